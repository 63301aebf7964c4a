#include "tegula/text/token_windows.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "tegula/core/error.h"
#include "tegula/io/file.h"

namespace tegula::text {
namespace {

std::int64_t tokens_of(const SharedIds& tokens) { return tokens ? static_cast<std::int64_t>(tokens->size()) : 0; }

void require_enough(std::string_view op, const SharedIds& tokens, std::int64_t length, std::int64_t batch = 1) {
  if (length >= 1 && batch >= 1 && (tokens_of(tokens) - 1) / batch >= length) return;
  throw Error(
      {.op = std::string(op),
       .got = "a text of " + std::to_string(tokens_of(tokens)) + " tokens",
       .expected = "more than " + std::to_string(batch * length) + ", for " +
                   (batch > 1 ? std::to_string(batch) + " streams of windows" : "a window") + " of " + std::to_string(length),
       .advice = batch > 1 ? "take a longer text, a shorter context or a smaller batch" : "take a longer text or a shorter context"});
}

HostArray window(const Ids& tokens, std::int64_t begin, std::int64_t length) {
  return HostArray::from(std::span<const Id>(tokens).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(length)), {length});
}

/// The header of llm.c's token files (data_common.py), 256 little-endian i32: this number, a version, the number of tokens.
constexpr std::size_t kHeader = 1024;
constexpr std::uint64_t kGpt2Magic = 20240520, kLlama3Magic = 20240801;

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

}  // namespace

Ids read_tokens(const std::string& path, std::int64_t vocabulary) {
  const io::Bytes file = io::read_file(path, {.op = "read_tokens"});
  const auto refuse = [&](std::string got, std::string expected, std::string advice = {}) {
    throw Error({.op = "read_tokens", .got = path + ": " + std::move(got), .expected = std::move(expected), .advice = std::move(advice)});
  };
  std::span<const std::byte> bytes(file);
  std::size_t width = 2;
  const std::uint64_t magic = bytes.size() >= kHeader ? little_endian(bytes.first(4)) : 0;
  if (magic == kGpt2Magic || magic == kLlama3Magic) {
    width = magic == kLlama3Magic ? 4 : 2;
    const std::uint64_t count = little_endian(bytes.subspan(8, 4));
    bytes = bytes.subspan(kHeader);
    if (bytes.size() != count * width)
      refuse(std::to_string(bytes.size()) + " bytes behind the header",
             std::to_string(count * width) + ", for " + std::to_string(count) + " tokens");
  }
  if (bytes.size() % width != 0) refuse(std::to_string(bytes.size()) + " bytes", "two for each token");
  Ids ids(bytes.size() / width);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<Id>(little_endian(bytes.subspan(i * width, width)));
    if (ids[i] >= vocabulary)
      refuse("the token number " + std::to_string(ids[i]) + " at place " + std::to_string(i), "numbers below " + std::to_string(vocabulary),
             "take the tokenizer that the file was made with");
  }
  return ids;
}

void write_tokens(const std::string& path, const Ids& tokens) {
  io::Bytes bytes;
  bytes.reserve(2 * tokens.size());
  for (const Id id : tokens) {
    if (id < 0 || id > 0xFFFF)
      throw Error({.op = "write_tokens", .got = "the token number " + std::to_string(id), .expected = "0 to 65535, as two bytes hold"});
    bytes.push_back(static_cast<std::byte>(id & 0xFF)), bytes.push_back(static_cast<std::byte>(id >> 8));
  }
  io::write_atomically(path, bytes, "write_tokens");
}

RandomWindows::RandomWindows(SharedIds tokens, std::int64_t length, std::int64_t count)
    : tokens_(std::move(tokens)),
      length_(length),
      count_(count) {
  require_enough("RandomWindows", tokens_, length);
}

data::Sample RandomWindows::get(std::int64_t, data::RandomStream& random) const {
  const std::int64_t places = tokens_of(tokens_) - length_;
  const std::int64_t begin = random.below(static_cast<std::uint32_t>(std::min<std::int64_t>(places, UINT32_MAX)));
  return {window(*tokens_, begin, length_), window(*tokens_, begin + 1, length_)};
}

Windows::Windows(SharedIds tokens, std::int64_t length, std::int64_t most) : tokens_(std::move(tokens)), length_(length) {
  require_enough("Windows", tokens_, length);
  all_ = (tokens_of(tokens_) - 1) / length;
  count_ = most > 0 ? std::min(most, all_) : all_;
}

data::Sample Windows::get(std::int64_t i) const {
  const std::int64_t begin = i * all_ / count_ * length_;
  return {window(*tokens_, begin, length_), window(*tokens_, begin + 1, length_)};
}

Streams::Streams(SharedIds tokens, std::int64_t batch, std::int64_t length, std::int64_t count)
    : tokens_(std::move(tokens)),
      batch_(batch),
      length_(length) {
  require_enough("Streams", tokens_, length, batch);
  windows_ = (tokens_of(tokens_) - 1) / batch / length;
  count_ = count > 0 ? count : windows_ * batch;
}

data::Sample Streams::get(std::int64_t i) const {
  const std::int64_t stream = i % batch_, at = i / batch_ % windows_;
  const std::int64_t begin = stream * ((tokens_of(tokens_) - 1) / batch_) + at * length_;
  return {window(*tokens_, begin, length_), data::number(at == 0 ? 1.0f : 0.0f), window(*tokens_, begin + 1, length_)};
}

}  // namespace tegula::text
