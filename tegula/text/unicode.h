#pragma once
// Unicode: characters of UTF-8 text, their kinds, normal forms (utf8proc).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tegula::text {

/// The first character of some bytes. An invalid sequence is one byte that stands for U+FFFD.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;
  bool valid = true;
};
/// The first character of `text`, which must not be empty.
Character front_character(std::string_view text);

/// Calls f(code, the character's bytes) for each character; bytes that are no UTF-8 come as U+FFFD, one by one.
template <class F>
void for_each_character(std::string_view text, F&& f) {
  while (!text.empty()) {
    const Character character = front_character(text);
    f(character.code, text.substr(0, character.bytes));
    text.remove_prefix(character.bytes);
  }
}

void append_utf8(std::string& text, char32_t code);
std::size_t count_characters(std::string_view text);
/// The number of bytes at the front that are UTF-8.
std::size_t valid_bytes(std::string_view text);
inline bool is_utf8(std::string_view text) { return valid_bytes(text) == text.size(); }
/// The text with U+FFFD for each byte that belongs to no character, as Python's errors="replace" nearly does.
std::string replace_invalid(std::string_view text);

enum class Form : std::uint8_t { NFC, NFD, NFKC, NFKD };
/// Unicode normal form (UAX #15). Invalid bytes become U+FFFD first.
std::string normalize(std::string_view text, Form form);
/// Character by character, as Python's str.lower() but for the final sigma.
std::string lowercase(std::string_view text);
/// The text without the non-spacing marks (Mn) of the NFD form: "é" is "e".
std::string strip_accents(std::string_view text);

bool is_letter(char32_t code);       // L*
bool is_mark(char32_t code);         // M*
bool is_number(char32_t code);       // N*
bool is_punctuation(char32_t code);  // P*
bool is_space(char32_t code);        // White_Space
bool is_control(char32_t code);      // C*: control, format, surrogate, private use, not assigned

}  // namespace tegula::text
