#include "tegula/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "tegula/core/error.h"

namespace tegula::text {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }
bool in_range(utf8proc_category_t value, utf8proc_category_t first, utf8proc_category_t last) { return value >= first && value <= last; }

}  // namespace

Character front_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {first, 1, true};
  utf8proc_int32_t code = 0;
  const auto size = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size(), 4));
  const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), size, &code);
  if (bytes <= 0) return {kReplacement, 1, false};
  return {static_cast<char32_t>(code), static_cast<std::size_t>(bytes), true};
}

void append_utf8(std::string& text, char32_t code) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(std::max<utf8proc_ssize_t>(count, 0)));
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for_each_character(text, [&](char32_t, std::string_view) { ++count; });
  return count;
}

std::size_t valid_bytes(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Character character = front_character(text.substr(at));
    if (!character.valid) break;
    at += character.bytes;
  }
  return at;
}

std::string replace_invalid(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (code == kReplacement) append_utf8(out, code);
    else out += bytes;
  });
  return out;
}

std::string normalize(std::string_view text, Form form) {
  if (is_ascii(text)) return std::string(text);
  if (!is_utf8(text)) return normalize(replace_invalid(text), form);
  int options = UTF8PROC_STABLE;
  options |= form == Form::NFC || form == Form::NFKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == Form::NFKC || form == Form::NFKD) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* result = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &result, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
  if (size < 0) throw Error({.op = "normalize", .got = utf8proc_errmsg(size), .expected = "text that has a normal form"});
  return {reinterpret_cast<const char*>(result), static_cast<std::size_t>(size)};
}

std::string lowercase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (code < 0x80) {
      out += static_cast<char>(code >= 'A' && code <= 'Z' ? code + 32 : code);
    } else if (code == 0x130) {  // the one letter whose lower case is two characters (SpecialCasing.txt)
      out += "i\u0307";
    } else {
      const auto lower = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
      if (lower == code && code != kReplacement) out += bytes;
      else append_utf8(out, lower);
    }
  });
  return out;
}

std::string strip_accents(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  const std::string apart = normalize(text, Form::NFD);
  std::string out;
  out.reserve(apart.size());
  for_each_character(apart, [&](char32_t code, std::string_view bytes) {
    if (category(code) != UTF8PROC_CATEGORY_MN) out += bytes;
  });
  return out;
}

bool is_letter(char32_t code) { return in_range(category(code), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO); }
bool is_mark(char32_t code) { return in_range(category(code), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }
bool is_number(char32_t code) { return in_range(category(code), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }
bool is_punctuation(char32_t code) { return in_range(category(code), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO); }

bool is_space(char32_t code) {
  return (code >= 9 && code <= 13) || code == 0x85 || in_range(category(code), UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

bool is_control(char32_t code) {
  const utf8proc_category_t kind = category(code);
  return kind == UTF8PROC_CATEGORY_CN || in_range(kind, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}

}  // namespace tegula::text
