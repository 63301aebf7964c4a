#include "tegula/text/tokens/token_stream.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/text/unicode.h"

namespace tegula::text {
namespace {

/// The end of the part of `text` that further tokens do not change: a character may lack bytes, a stop string may have begun.
std::size_t certain(std::string_view text, std::size_t from, const std::vector<std::string>& stops) {
  std::size_t end = text.size();
  constexpr std::size_t kLongest = 4;  // bytes of a character
  for (std::size_t back = 1; back < kLongest && back <= end - from; ++back) {
    const auto byte = static_cast<unsigned char>(text[end - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    if (back < whole) end -= back;
    break;
  }
  for (const std::string& stop : stops) {
    for (std::size_t size = std::min(stop.size() - 1, text.size() - from); size > 0; --size) {
      if (!text.ends_with(std::string_view(stop).substr(0, size))) continue;
      end = std::min(end, text.size() - size);
      break;
    }
  }
  return end;
}

/// The number of tokens that are decoded with each new one: a text's own time is linear in its length.
constexpr std::size_t kRemembered = 64;

}  // namespace

TokenStream::TokenStream(Tokenizer tokenizer, std::vector<std::string> stops, Ids before)
    : tokenizer_(std::move(tokenizer)),
      stops_(std::move(stops)),
      tokens_(std::move(before)),
      given_(tokenizer_.decode(tokens_).size()) {
  if (std::ranges::any_of(stops_, [](const std::string& stop) { return stop.empty(); }))
    throw Error({.op = "TokenStream", .got = "an empty stop string", .expected = "text that ends the text"});
}

std::string TokenStream::up_to(std::string_view text, std::size_t end) {
  if (end <= given_) return "";
  const std::string piece(text.substr(given_, end - given_));
  given_ = end;
  return piece;
}

std::string TokenStream::push(Id token) {
  tokens_.push_back(token);
  if (stopped_) return "";
  const std::string text = tokenizer_.decode(tokens_);
  if (text.size() < given_) return "";  // a decoder that cleans up behind itself
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, text.find(stop, given_));
  stopped_ = first != std::string::npos;
  std::string piece = up_to(text, stopped_ ? first : certain(text, given_, stops_));
  if (given_ == text.size()) forget();
  return piece;
}

void TokenStream::forget() {
  if (tokens_.size() < 2 * kRemembered) return;
  const Ids last(tokens_.end() - static_cast<std::ptrdiff_t>(kRemembered), tokens_.end());
  const std::size_t size = tokenizer_.decode(last).size();
  if (size == 0) return;  // the next token would be the first that has a text
  tokens_ = last;
  given_ = size;
}

std::string TokenStream::finish() {
  if (stopped_) return "";
  const std::string text = tokenizer_.decode(tokens_);
  return up_to(text, text.size());
}

}  // namespace tegula::text
