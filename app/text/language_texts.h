#pragma once
// Training data of a language model: texts, or files of tokens.

#include <string>
#include <vector>

#include "tegula/text/token_windows.h"
#include "tegula/text/tokens/tokenizer.h"

namespace tegula::app {

struct TextsChoice {
  std::vector<std::string> files;
  std::string validation_file, tokenizer = "char";
  double validation = 0.1;  // share, at the end
};

/// The texts as tokens, and the numbers needed to measure on them.
struct Texts {
  std::string tokenizer_json;
  text::Tokenizer tokenizer;
  text::SharedIds train, validation;
  double characters_per_token;  // in the validation text
};

/// Throws Error in the name of `op` for files that do not go together.
Texts read_texts(const TextsChoice& choice, const std::string& op);

}  // namespace tegula::app
