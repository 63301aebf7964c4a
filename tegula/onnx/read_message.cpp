#include "tegula/onnx/read_message.h"

#include <algorithm>
#include <exception>

#include <google/protobuf/io/zero_copy_stream.h>

#include "tegula/core/error.h"
#include "tegula/core/text.h"

namespace tegula::onnx {
namespace {

using google::protobuf::Arena;
using google::protobuf::MessageLite;

constexpr std::size_t kPiece = std::size_t{1} << 16;  // bytes read at once
constexpr std::size_t kSmallPiece = 32;  // of the second reading, which finds the place
constexpr std::uint64_t kMostOverhead = std::uint64_t{64} << 20, kMostPerByte = 32;  // bytes of messages

/// The content in pieces, until the arena is too large. No exception goes through the parser, which calls it.
class Pieces final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  Pieces(const Content& content, std::size_t piece, const Arena& arena)
      : content_(content),
        piece_(piece),
        arena_(arena),
        held_(content.file ? std::min<std::uint64_t>(kPiece, content.size()) : 0) {}

  bool Next(const void** data, int* size) override {
    if (at_ == content_.size() || is_over() || failure_) return false;
    std::span<const std::byte> bytes = content_.bytes.subspan(content_.file ? 0 : at_);
    if (content_.file) {
      const std::uint64_t from = at_ / kPiece * kPiece;
      if (from != held_from_) read(from);
      if (failure_) return false;
      bytes = std::span(held_).first(std::min<std::uint64_t>(kPiece, content_.size() - from)).subspan(at_ - from);
    }
    bytes = bytes.first(std::min(bytes.size(), piece_));
    *data = bytes.data();
    *size = static_cast<int>(bytes.size());
    at_ += bytes.size();
    return true;
  }
  void BackUp(int count) override { at_ -= static_cast<std::uint64_t>(count); }
  bool Skip(int count) override {
    const std::uint64_t left = content_.size() - at_;
    at_ += std::min(left, static_cast<std::uint64_t>(count));
    return left >= static_cast<std::uint64_t>(count);
  }
  std::int64_t ByteCount() const override { return static_cast<std::int64_t>(at_); }

  std::uint64_t most() const { return kMostOverhead + kMostPerByte * content_.size(); }
  bool is_over() const { return arena_.SpaceAllocated() > most(); }
  const std::exception_ptr& failure() const { return failure_; }

 private:
  void read(std::uint64_t from) {
    try {
      content_.file->read_at(from, std::span(held_).first(std::min<std::uint64_t>(kPiece, content_.size() - from)));
      held_from_ = from;
    } catch (...) { failure_ = std::current_exception(); }
  }

  const Content& content_;
  std::size_t piece_;
  const Arena& arena_;
  std::uint64_t at_ = 0;
  io::Bytes held_;  // of a file
  std::uint64_t held_from_ = ~std::uint64_t{0};
  std::exception_ptr failure_;
};

}  // namespace

void Source::fail(const std::string& got) const {
  throw Error({.op = "onnx",
               .got = printable(name + ": " + got),
               .expected = "an ONNX model",
               .advice = "the file is damaged, truncated or of another kind"});
}

MessageLite& read_message(const MessageLite& empty, Arena& arena, const Content& content, const Source& source) {
  const std::uint64_t size = content.size();
  if (size > kMostInMessage)
    throw Error({.op = "onnx",
                 .got = printable(source.name) + ": " + std::to_string(size) + " bytes",
                 .expected = "less than 2 GiB, which a message of protocol buffers has",
                 .advice = "larger models have their tensors in a file beside them (external data)"});
  const auto parse = [&](Pieces& pieces) {
    MessageLite* const message = empty.New(&arena);
    return message->ParsePartialFromBoundedZeroCopyStream(&pieces, static_cast<int>(size)) ? message : nullptr;
  };
  Pieces pieces(content, kPiece, arena);
  if (MessageLite* const message = parse(pieces)) return *message;
  if (pieces.failure()) std::rethrow_exception(pieces.failure());
  if (pieces.is_over())
    source.fail("messages that take more than " + std::to_string(pieces.most()) + " bytes of memory, in " + std::to_string(size) +
                " bytes");
  arena.Reset();
  Pieces small(content, kSmallPiece, arena);
  parse(small);
  source.fail("no field of protocol buffers, or messages too deep within each other, before byte " + std::to_string(small.ByteCount()) +
              " of " + std::to_string(size));
}

}  // namespace tegula::onnx
