#include "tegula/io/wire.h"

#include <cstring>

#include "tegula/core/error.h"

namespace tegula::io {

bool WireReader::next(WireField& field) {
  if (at_ == bytes_.size()) return false;
  const std::uint64_t key = varint();
  field = {.number = key >> 3, .wire = static_cast<Wire>(key & 7)};
  switch (field.wire) {
    case Wire::Varint: field.value = varint(); return true;
    case Wire::Fixed64: field.value = fixed(8); return true;
    case Wire::Fixed32: field.value = fixed(4); return true;
    case Wire::Bytes: {
      const std::uint64_t size = varint();
      const std::size_t left = bytes_.size() - at_;
      if (size > left) fail("a field of " + std::to_string(size) + " bytes where " + std::to_string(left) + " are left");
      field.bytes = bytes_.subspan(at_, static_cast<std::size_t>(size));
      at_ += static_cast<std::size_t>(size);
      return true;
    }
  }
  fail("a field of wire type " + std::to_string(key & 7));
}

void WireReader::fail(const std::string& got) const {
  throw Error({.op = std::string(source_.op),
               .got = std::string(source_.name) + ": " + got,
               .expected = std::string(source_.expected),
               .advice = std::string(source_.advice)});
}

std::uint64_t WireReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == bytes_.size()) fail("the end of the data within a number");
    const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail("a number of more than 64 bits");
}

std::uint64_t WireReader::fixed(std::size_t size) {
  if (bytes_.size() - at_ < size) fail("the end of the data within a number");
  std::uint64_t value = 0;
  std::memcpy(&value, bytes_.data() + at_, size);  // little-endian, as this machine
  at_ += size;
  return value;
}

void WireWriter::number(std::uint64_t value) {
  for (; value >= 128; value >>= 7) text_ += static_cast<char>((value & 127) | 128);
  text_ += static_cast<char>(value);
}

void WireWriter::key(std::uint32_t number, Wire wire) { this->number(std::uint64_t{number} << 3 | static_cast<std::uint64_t>(wire)); }

WireWriter& WireWriter::varint(std::uint32_t number, std::uint64_t value) {
  key(number, Wire::Varint);
  this->number(value);
  return *this;
}

WireWriter& WireWriter::fixed64(std::uint32_t number, double value) {
  key(number, Wire::Fixed64);
  text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

WireWriter& WireWriter::fixed32(std::uint32_t number, float value) {
  key(number, Wire::Fixed32);
  text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

WireWriter& WireWriter::bytes(std::uint32_t number, std::string_view value) {
  key(number, Wire::Bytes);
  this->number(value.size());
  text_ += value;
  return *this;
}

}  // namespace tegula::io
