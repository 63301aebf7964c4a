#pragma once
// CUDA C++ as words, as far as it has to be read to know a kernel's parameters (cuda_text.h).

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/dtype.h"

namespace tegula::runtime::tokens {

struct Token {
  std::string_view text;
  std::size_t begin = 0;
  int line = 1;
};
using Part = std::vector<Token>;

/// A number of C++.
struct CNumber {
  DType dtype;
  int bytes;
  bool is_unsigned = false;
};

/// True for the characters of names and numbers.
bool is_name(char c);
/// Names, numbers and single characters; without comments, texts in quotes and lines of the preprocessor.
std::vector<Token> tokens_of(std::string_view text);
/// The place behind the bracket that closes the one at `at`.
std::size_t behind_bracket(std::span<const Token> tokens, std::size_t at);
/// The parts between commas.
std::vector<Part> parts_of(std::span<const Token> tokens);

/// The number of these words of a type, of which the order does not count.
std::optional<CNumber> number_of(std::vector<std::string> words);
/// The same of what memory holds, where it may be a vector: float4, a number and how many.
std::optional<CNumber> element_of(const std::vector<std::string>& words);
bool is_number_word(std::string_view word);

/// Names that the text gives to types of numbers: typedef, using and #define.
std::map<std::string, std::string> names_of_types(std::string_view text, std::span<const Token> tokens);
/// The words of a type, with what names stand for.
std::vector<std::string> words_of(const Part& part, const std::map<std::string, std::string>& types);
/// "const float*" of its tokens.
std::string text_of(const Part& part);

}  // namespace tegula::runtime::tokens
