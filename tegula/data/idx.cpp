#include "tegula/data/idx.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "tegula/core/error.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/gzip.h"

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

/// Turns elements of `width` bytes from big-endian to the machine's order.
void turn_elements(std::span<std::byte> bytes, std::size_t width) {
  if (width == 1 || std::endian::native == std::endian::big) return;
  for (std::size_t at = 0; at < bytes.size(); at += width) std::reverse(bytes.data() + at, bytes.data() + at + width);
}

struct Header {
  DType dtype;
  Shape shape;
  std::size_t begin;                   // byte offset of the data
  std::optional<std::size_t> needed;   // bytes of data; nothing when that passes 63 bits

  [[noreturn]] void complain_of(std::string_view name, const std::string& rest) const {
    complain(name, rest + " bytes of data",
             (needed ? std::to_string(*needed) : "more than 2^63") + std::string(" for shape ") + to_string(shape) + " of " +
                 std::string(tegula::name(dtype)),
             "the file is truncated or damaged; fetch it again");
  }
};

constexpr std::size_t kMaxHeader = kMagicBytes + kSizeBytes * static_cast<std::size_t>(kMaxRank);

/// The header from the first kMaxHeader bytes of a file, or all that it has.
Header parse_header(std::span<const std::byte> bytes, std::string_view name) {
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
  if (!overflow && !countable(shape)) complain(name, "shape " + to_string(shape), "fewer than 2^60 elements");
  return {*dtype, shape, header, overflow ? std::nullopt : std::optional(static_cast<std::size_t>(needed))};
}

std::span<std::byte> bytes_in(const HostArray& array) { return {static_cast<std::byte*>(array.buffer->data()), array.bytes()}; }

/// Decompresses the bytes that the header promises, and no more: a small file cannot fill the memory beyond that.
HostArray parse_packed(std::span<const std::byte> packed, std::string_view name) {
  io::GzipReader reader(packed, name, "idx");
  io::Bytes head(kMaxHeader);
  head.resize(reader.read(head));
  const Header header = parse_header(head, name);
  const std::size_t in_head = head.size() - header.begin;
  if (!header.needed || in_head > *header.needed) header.complain_of(name, (reader.at_end() ? "" : "at least ") + std::to_string(in_head));
  const HostArray array = HostArray::empty(header.dtype, header.shape);
  const auto data = bytes_in(array);
  std::copy_n(head.begin() + static_cast<std::ptrdiff_t>(header.begin), in_head, data.begin());
  const std::size_t come = in_head + reader.read(data.subspan(in_head));
  if (come < data.size()) header.complain_of(name, std::to_string(come));
  if (!reader.at_end()) header.complain_of(name, "more than " + std::to_string(come));
  turn_elements(data, size_of(header.dtype));
  return array;
}

}  // namespace

HostArray parse_idx(std::span<const std::byte> bytes, std::string_view name) {
  if (io::is_gzip(bytes)) return parse_packed(bytes, name);
  io::refuse_other_kinds(bytes, {io::FileKind::Idx}, "idx", name, "an idx file");
  const Header header = parse_header(bytes, name);
  const auto rest = bytes.subspan(header.begin);
  if (header.needed != rest.size()) header.complain_of(name, std::to_string(rest.size()));
  const HostArray array = HostArray::empty(header.dtype, header.shape);
  std::copy(rest.begin(), rest.end(), bytes_in(array).begin());
  turn_elements(bytes_in(array), size_of(header.dtype));
  return array;
}

HostArray read_idx(const std::string& path) { return parse_idx(io::read_file(path, {.op = "idx"}), path); }

}  // namespace tegula::data
