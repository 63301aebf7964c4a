#include "tegula/data/idx.h"

#include <bit>
#include <cstring>
#include <optional>

#include "tegula/core/error.h"
#include "tegula/io/file.h"

namespace tegula::data {
namespace {

// Magic: two zero bytes, the dtype, the rank; then one 32-bit size per axis; all big-endian.
constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kSizeBytes = 4;

[[noreturn]] void complain(std::string_view name, const std::string& got, std::string expected,
                           std::string advice = "the file is damaged, or is no idx file (MNIST's names end in -ubyte or -ubyte.gz)") {
  throw Error({.op = "idx", .got = std::string(name) + ": " + got, .expected = std::move(expected), .advice = std::move(advice)});
}

std::optional<DType> dtype_of_code(int code) {
  switch (code) {
    case 0x08: return u8;
    case 0x09: return i8;
    case 0x0B: return i16;
    case 0x0C: return i32;
    case 0x0D: return f32;
    case 0x0E: return f64;
    default: return {};
  }
}

std::int64_t big_endian_size(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kSizeBytes; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  return value;
}

/// Copies elements of `width` bytes from big-endian to the machine's order.
void copy_elements(const std::byte* from, std::byte* to, std::size_t bytes, std::size_t width) {
  if (bytes == 0) return;
  if (width == 1 || std::endian::native == std::endian::big) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += width) {
    for (std::size_t i = 0; i < width; ++i) to[at + i] = from[at + width - 1 - i];
  }
}

}  // namespace

HostArray parse_idx(std::span<const std::byte> bytes, std::string_view name) {
  if (bytes.size() < kMagicBytes) complain(name, std::to_string(bytes.size()) + " bytes", "at least 4 (the magic number)");
  if (bytes[0] != std::byte{0} || bytes[1] != std::byte{0})
    complain(name, "a magic number that does not begin with two zero bytes", "00 00 dtype rank");
  const int code = std::to_integer<int>(bytes[2]), rank = std::to_integer<int>(bytes[3]);
  const auto dtype = dtype_of_code(code);
  if (!dtype) complain(name, "dtype code " + std::to_string(code), "8 (u8), 9 (i8), 11 (i16), 12 (i32), 13 (f32) or 14 (f64)");
  if (rank < 1 || rank > kMaxRank) complain(name, "rank " + std::to_string(rank), "1 to " + std::to_string(kMaxRank));
  const std::size_t header = kMagicBytes + kSizeBytes * static_cast<std::size_t>(rank);
  if (bytes.size() < header)
    complain(name, std::to_string(bytes.size()) + " bytes", std::to_string(header) + " for a header of rank " + std::to_string(rank));

  Shape shape;
  std::int64_t needed = static_cast<std::int64_t>(size_of(*dtype));
  bool overflow = false;
  for (int i = 0; i < rank; ++i) {
    shape.push_back(big_endian_size(bytes, kMagicBytes + kSizeBytes * static_cast<std::size_t>(i)));
    overflow |= __builtin_mul_overflow(needed, shape.back(), &needed);
  }
  const std::size_t rest = bytes.size() - header;
  if (overflow || static_cast<std::size_t>(needed) != rest) {
    complain(name, std::to_string(rest) + " bytes of data",
             (overflow ? "more than 2^63" : std::to_string(needed)) + std::string(" for shape ") + to_string(shape) + " of " +
                 std::string(tegula::name(*dtype)),
             "the file is truncated or damaged; fetch it again");
  }
  HostArray array = HostArray::empty(*dtype, shape);
  copy_elements(bytes.data() + header, static_cast<std::byte*>(array.buffer->data()), rest, size_of(*dtype));
  return array;
}

HostArray read_idx(const std::string& path) { return parse_idx(io::read_file_or_gzip(path, {.op = "idx"}), path); }

}  // namespace tegula::data
