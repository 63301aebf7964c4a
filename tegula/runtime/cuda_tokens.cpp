#include "tegula/runtime/cuda_tokens.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace tegula::runtime::tokens {
namespace {

/// The numbers of C by the words of their type, in order of the alphabet.
const std::map<std::string, CNumber, std::less<>>& numbers() {
  static const std::map<std::string, CNumber, std::less<>> all{{"float", {f32, 4}},
                                                               {"double", {f64, 8}},
                                                               {"__half", {f16, 2}},
                                                               {"half", {f16, 2}},
                                                               {"__nv_bfloat16", {bf16, 2}},
                                                               {"nv_bfloat16", {bf16, 2}},
                                                               {"bool", {boolean, 1}},
                                                               {"char", {i8, 1}},
                                                               {"char signed", {i8, 1}},
                                                               {"char unsigned", {u8, 1, true}},
                                                               {"short", {i16, 2}},
                                                               {"int short", {i16, 2}},
                                                               {"short unsigned", {i16, 2, true}},
                                                               {"int", {i32, 4}},
                                                               {"unsigned", {i32, 4, true}},
                                                               {"int unsigned", {i32, 4, true}},
                                                               {"signed", {i32, 4}},
                                                               {"int signed", {i32, 4}},
                                                               {"long", {i64, 8}},
                                                               {"int long", {i64, 8}},
                                                               {"long unsigned", {i64, 8, true}},
                                                               {"long long", {i64, 8}},
                                                               {"int long long", {i64, 8}},
                                                               {"long long unsigned", {i64, 8, true}},
                                                               {"size_t", {i64, 8, true}},
                                                               {"ptrdiff_t", {i64, 8}},
                                                               {"int8_t", {i8, 1}},
                                                               {"uint8_t", {u8, 1, true}},
                                                               {"int16_t", {i16, 2}},
                                                               {"uint16_t", {i16, 2, true}},
                                                               {"int32_t", {i32, 4}},
                                                               {"uint32_t", {i32, 4, true}},
                                                               {"uint", {i32, 4, true}},
                                                               {"int64_t", {i64, 8}},
                                                               {"uint64_t", {i64, 8, true}}};
  return all;
}

}  // namespace

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  bool fresh = true;  // nothing of the line has been seen
  const auto skip_to = [&](std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to; ++k) line += text[k] == '\n';
    return to;
  };
  const auto find = [&](std::string_view what, std::size_t from) {
    const std::size_t at = text.find(what, from);
    return at == std::string_view::npos ? text.size() : at;
  };
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') ++line, ++i, fresh = true;
    else if (std::isspace(static_cast<unsigned char>(c))) ++i;
    else if (text.substr(i, 2) == "//") i = find("\n", i);
    else if (text.substr(i, 2) == "/*") i = skip_to(i, std::min(find("*/", i + 2) + 2, text.size()));
    else if (c == '#' && fresh) {
      std::size_t end = find("\n", i);
      while (end < text.size() && end > 0 && text[end - 1] == '\\') end = find("\n", end + 1);
      i = skip_to(i, end);
    } else if (c == '"' || c == '\'') {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
      i = skip_to(i, std::min(end + 1, text.size()));
      fresh = false;
    } else {
      std::size_t end = i + 1;
      const bool number = std::isdigit(static_cast<unsigned char>(c)) != 0;  // 1'000'000
      if (is_name(c))
        while (end < text.size() &&
               (is_name(text[end]) || (number && text[end] == '\'' && end + 1 < text.size() && is_name(text[end + 1]))))
          ++end;
      tokens.push_back({text.substr(i, end - i), i, line});
      i = end, fresh = false;
    }
  }
  return tokens;
}

std::size_t behind_bracket(std::span<const Token> tokens, std::size_t at) {
  const std::string_view open = tokens[at].text, close = open == "(" ? ")" : open == "<" ? ">" : open == "[" ? "]" : "}";
  int depth = 0;
  for (std::size_t i = at; i < tokens.size(); ++i) {
    depth += tokens[i].text == open;
    depth -= tokens[i].text == close;
    if (depth == 0) return i + 1;
  }
  return tokens.size();
}

std::vector<Part> parts_of(std::span<const Token> tokens) {
  std::vector<Part> parts;
  int depth = 0;
  for (const Token& token : tokens) {
    if (parts.empty()) parts.emplace_back();
    if (token.text == "(" || token.text == "<" || token.text == "[") ++depth;
    if (token.text == ")" || token.text == ">" || token.text == "]") --depth;
    if (token.text == "," && depth == 0) parts.emplace_back();
    else parts.back().push_back(token);
  }
  return parts;
}

std::optional<CNumber> number_of(std::vector<std::string> words) {
  std::ranges::sort(words);
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  const auto found = numbers().find(text);
  return found == numbers().end() ? std::nullopt : std::optional(found->second);
}

std::optional<CNumber> element_of(const std::vector<std::string>& words) {
  if (const auto number = number_of(words)) return number;
  if (words.size() != 1 || words[0].size() < 2 || words[0].back() < '1' || words[0].back() > '4') return {};
  const std::string element = words[0].substr(0, words[0].size() - 1);
  static const std::map<std::string, std::string, std::less<>> kOther{{"uchar", "unsigned char"},
                                                                      {"ushort", "unsigned short"},
                                                                      {"ulong", "unsigned long"},
                                                                      {"longlong", "long long"},
                                                                      {"ulonglong", "unsigned long long"}};
  std::vector<std::string> of_element;
  const auto other = kOther.find(element);
  for (const Token& word : tokens_of(other == kOther.end() ? element : other->second)) of_element.emplace_back(word.text);
  return number_of(of_element);
}

std::string text_of(const Part& part) {
  std::string text;
  for (const Token& token : part) {
    const bool word = is_name(token.text.front());
    if (!text.empty() && word && (is_name(text.back()) || text.back() == '*' || text.back() == '>')) text += ' ';
    text += token.text;
  }
  return text;
}

bool is_number_word(std::string_view word) { return numbers().contains(word); }

std::map<std::string, std::string> names_of_types(std::string_view text, std::span<const Token> tokens) {
  std::map<std::string, std::string> types;
  const auto add = [&](const Part& type, std::string_view name) {
    std::vector<std::string> words = words_of(type, types);
    if (!element_of(words)) return;
    std::string& said = types[std::string(name)];
    said.clear();
    for (const std::string& word : words) said += (said.empty() ? "" : " ") + word;
  };
  for (std::size_t i = 0; i + 3 < tokens.size(); ++i) {
    Part type;
    if (tokens[i].text == "typedef") {
      std::size_t k = i + 1;
      for (; k + 1 < tokens.size() && tokens[k + 1].text != ";" && is_name(tokens[k].text.front()); ++k) type.push_back(tokens[k]);
      if (k + 1 < tokens.size() && tokens[k + 1].text == ";") add(type, tokens[k].text);
    } else if (tokens[i].text == "using" && tokens[i + 2].text == "=") {
      std::size_t k = i + 3;
      for (; k < tokens.size() && is_name(tokens[k].text.front()); ++k) type.push_back(tokens[k]);
      if (k < tokens.size() && tokens[k].text == ";") add(type, tokens[i + 1].text);
    }
  }
  // #define real float
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size()), hash = text.find_first_not_of(" \t", at);
    if (hash < end && text[hash] == '#') {
      const std::vector<Token> words = tokens_of(text.substr(hash + 1, end - hash - 1));
      if (words.size() > 2 && words[0].text == "define" && words[2].begin > words[1].begin + words[1].text.size())
        add({words.begin() + 2, words.end()}, words[1].text);
    }
    at = end + 1;
  }
  return types;
}

std::vector<std::string> words_of(const Part& part, const std::map<std::string, std::string>& types) {
  std::vector<std::string> words;
  for (const Token& token : part) {
    const auto given = types.find(std::string(token.text));
    if (given == types.end()) words.emplace_back(token.text);
    else
      for (const Token& word : tokens_of(given->second)) words.emplace_back(word.text);
  }
  return words;
}

}  // namespace tegula::runtime::tokens
