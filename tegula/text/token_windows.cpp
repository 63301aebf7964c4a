#include "tegula/text/token_windows.h"

#include <algorithm>
#include <string>

#include "tegula/core/error.h"

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

}  // namespace

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
