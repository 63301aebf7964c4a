#pragma once
// Tokenizers as the text of a tokenizer.json, which a model's file can carry along: parse_tokenizer_json makes them again.

#include <string>
#include <string_view>

#include "tegula/text/vocabulary.h"

namespace tegula::text {

/// The characters of a text, sorted: text::character_tokenizer(text). Throws Error for an empty text and one that is no UTF-8.
std::string characters_json(std::string_view text);

/// Whole words between white space, in lower case; a word that is not among them is `unknown`, which must be. Throws Error otherwise.
std::string words_json(const Vocabulary& words, const std::string& unknown);

/// The text of a file tokenizer.json; of a folder with one; or of GPT-2's vocab.json (encoder.json) and merges.txt (vocab.bpe) in a folder. Throws
/// Error, with the name, for other files and where a part is missing or no tokenizer.
std::string read_tokenizer_json(const std::string& path);

}  // namespace tegula::text
