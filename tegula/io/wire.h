#pragma once
// The wire format of protocol buffers (protobuf.dev, "Encoding"): a message is fields, each a number, how its value is written, and the value.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tegula::io {

enum class Wire : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct WireField {
  std::uint64_t number = 0;
  Wire wire = Wire::Varint;
  std::uint64_t value = 0;  // a varint, or the bits of a fixed-size number
  std::span<const std::byte> bytes = {};  // a string or message
};

/// Words of the Error for a message that cannot be read.
struct WireSource {
  std::string_view op, name, expected, advice;
};

/// The fields of a message, one after the other. The bytes must outlive the reader and its fields.
class WireReader {
 public:
  WireReader(std::span<const std::byte> message, const WireSource& source) : bytes_(message), source_(source) {}

  /// False at the end of the message. Throws Error for bytes that are no fields, or end within one.
  bool next(WireField& field);
  /// Throws Error with the source's words: `got` is the message's content.
  [[noreturn]] void fail(const std::string& got) const;

 private:
  std::uint64_t varint();
  std::uint64_t fixed(std::size_t size);

  std::span<const std::byte> bytes_;
  WireSource source_;
  std::size_t at_ = 0;
};

/// Writes the fields of a message; text() has its bytes.
class WireWriter {
 public:
  WireWriter& varint(std::uint32_t number, std::uint64_t value);
  WireWriter& fixed64(std::uint32_t number, double value);
  WireWriter& fixed32(std::uint32_t number, float value);
  WireWriter& bytes(std::uint32_t number, std::string_view value);  // a string, or the bytes of a message
  const std::string& text() const { return text_; }

 private:
  void key(std::uint32_t number, Wire wire);
  void number(std::uint64_t value);

  std::string text_;
};

}  // namespace tegula::io
