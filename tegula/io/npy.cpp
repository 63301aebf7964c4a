#include "tegula/io/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file_kind.h"

namespace tegula::io {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";

[[noreturn]] void complain(std::string_view file, const std::string& got, std::string expected, std::string advice = "") {
  throw Error(
      {.op = "npy", .got = printable(std::string(file) + ": " + got), .expected = std::move(expected), .advice = std::move(advice)});
}

struct HeaderFields {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

/// The header is a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view file) : text_(text), all_(text), file_(file) {}

  HeaderFields parse() {
    HeaderFields out;
    expect("{");
    while (!take("}")) {
      const std::string key = quoted();
      expect(":");
      if (key == "descr" && !out.descr) out.descr = descr();
      else if (key == "fortran_order" && !out.fortran_order) out.fortran_order = boolean();
      else if (key == "shape" && !out.shape) out.shape = shape();
      else fail("the key " + key);
      if (!take(",")) {
        expect("}");
        break;
      }
    }
    skip();
    if (!text_.empty()) fail("text behind the header");
    if (!out.descr || !out.fortran_order || !out.shape) fail("a header without descr, fortran_order or shape");
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& got) const {
    complain(file_, got + " in the header " + std::string(all_.substr(0, 120)), "{'descr': …, 'fortran_order': …, 'shape': …}",
             "the file is damaged, or of another kind");
  }
  void skip() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    skip();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail("no " + std::string(word));
  }
  std::string quoted() {
    const bool twice = take("\"");
    if (!twice) expect("'");
    const std::size_t end = text_.find(twice ? '"' : '\'');
    if (end == std::string_view::npos) fail("an open quote");
    std::string value(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return value;
  }
  std::string descr() {
    skip();
    return text_.starts_with('[') ? fields() : quoted();
  }
  /// A structured dtype as it stands there: a list of tuples, in which texts may hold brackets.
  std::string fields() {
    int open = 0;
    char quote = 0;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quote) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '[') {
        ++open;
      } else if (c == ']' && --open == 0) {
        std::string all(text_.substr(0, i + 1));
        text_.remove_prefix(i + 1);
        return all;
      }
    }
    fail("an open bracket");
  }
  bool boolean() {
    if (take("True")) return true;
    expect("False");
    return false;
  }
  Shape shape() {
    Shape out;
    expect("(");
    while (!take(")")) {
      skip();
      std::int64_t size = 0;
      const auto [rest, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) fail("a bad size");
      text_.remove_prefix(static_cast<std::size_t>(rest - text_.data()));
      if (out.rank() == kMaxRank) complain(file_, "more than " + std::to_string(kMaxRank) + " axes", "at most " + std::to_string(kMaxRank));
      out.push_back(size);
      if (!take(",")) {
        expect(")");
        break;
      }
    }
    return out;
  }

  std::string_view text_, all_, file_;
};

/// The form of the elements in the file, and the dtype they become.
struct Stored {
  char kind;  // f, i, u, b
  int bytes;
  bool swapped;
  DType dtype;
};

std::optional<Stored> stored_as(const std::string& descr) {
  const std::pair<std::string_view, DType> known[] = {{"f8", DType::f64}, {"f4", DType::f32}, {"f2", DType::f16}, {"i8", DType::i64},
                                                      {"i4", DType::i32}, {"i2", DType::i16}, {"i1", DType::i8},  {"u1", DType::u8},
                                                      {"u2", DType::u16}, {"u4", DType::u32}, {"u8", DType::u64}, {"b1", DType::boolean}};
  for (const auto& [name, dtype] : known) {
    if (descr.size() == 3 && descr.substr(1) == name && std::string_view("<>|=").find(descr[0]) != std::string_view::npos)
      return Stored{name[0], name[1] - '0', descr[0] == '>', dtype};
  }
  return {};
}

template <class T>
T element(const std::byte* at, bool swapped) {
  std::byte raw[sizeof(T)];
  std::memcpy(raw, at, sizeof(T));
  if (swapped) std::reverse(std::begin(raw), std::end(raw));
  T value;
  std::memcpy(&value, raw, sizeof(T));
  return value;
}

/// Calls f(position in the file's order, position in C order) for each element.
template <class F>
void for_each_place(const Shape& shape, bool fortran, F&& f) {
  const std::int64_t count = numel(shape);
  if (!fortran || shape.rank() < 2) {
    for (std::int64_t i = 0; i < count; ++i) f(i, i);
    return;
  }
  const Strides strides = dense_strides(shape);
  Dims at = Dims::filled(shape.rank(), 0);
  std::int64_t to = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    f(i, to);
    for (int d = 0; d < shape.rank(); ++d) {
      to += strides[d];
      if (++at[d] < shape[d]) break;
      to -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
}

template <class From, class To>
void convert(const std::byte* data, const NpyHeader& header, bool swapped, HostArray& out) {
  const auto to = out.values<To>();
  for_each_place(header.shape, header.fortran_order, [&](std::int64_t from, std::int64_t place) {
    const From value = element<From>(data + static_cast<std::size_t>(from) * sizeof(From), swapped);
    if constexpr (std::is_same_v<To, bool>) to[static_cast<std::size_t>(place)] = value != 0;
    else to[static_cast<std::size_t>(place)] = static_cast<To>(value);
  });
}

std::string descr_of(DType dtype, std::string_view name) {
  switch (dtype) {
    case DType::f64: return "<f8";
    case DType::f32: return "<f4";
    case DType::f16: return "<f2";
    case DType::i64: return "<i8";
    case DType::i32: return "<i4";
    case DType::u64: return "<u8";
    case DType::u32: return "<u4";
    case DType::u16: return "<u2";
    case DType::i16: return "<i2";
    case DType::i8: return "|i1";
    case DType::u8: return "|u1";
    case DType::boolean: return "|b1";
    default: complain(name, "a tensor of " + std::string(tegula::name(dtype)), "a dtype that NumPy has", "cast it to f32 first");
  }
}

}  // namespace

std::size_t npy_header_bytes(std::span<const std::byte> first, std::string_view name) {
  refuse_other_kinds(first, {FileKind::Npy}, "npy", name, "a .npy file");
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  if (!text.starts_with(kMagic) || text.size() < 10)
    complain(name, "no .npy file", "the bytes \\x93NUMPY at its begin", "np.save writes such files");
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) complain(name, "version " + std::to_string(version), "1 to 3");
  if (version == 1) return std::size_t{10} + element<std::uint16_t>(first.data() + 8, false);
  if (text.size() < 12) complain(name, "a file of " + std::to_string(text.size()) + " bytes", "a whole header", "the file is truncated");
  return std::size_t{12} + element<std::uint32_t>(first.data() + 8, false);
}

NpyHeader parse_npy_header(std::span<const std::byte> beginning, std::uint64_t file_bytes, std::string_view name) {
  const std::size_t length = npy_header_bytes(beginning, name);
  if (length > beginning.size())
    complain(name, "a header that ends at byte " + std::to_string(length) + " of a file of " + std::to_string(file_bytes), "a whole file",
             "the file is truncated");
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), length);
  const HeaderFields fields = HeaderParser(text.substr(text[6] == 1 ? 10 : 12), name).parse();
  NpyHeader header{.dtype = *fields.descr, .shape = *fields.shape, .fortran_order = *fields.fortran_order, .begin = length};
  const auto stored = stored_as(header.dtype);
  if (!stored) {
    header.unreadable =
        header.dtype.starts_with('[') ? "records (a structured dtype)" : "elements of type '" + header.dtype.substr(0, 80) + "'";
    return header;
  }
  const std::uint64_t data = file_bytes - length;
  if (!countable(*fields.shape) || static_cast<std::uint64_t>(numel(*fields.shape)) * static_cast<std::uint64_t>(stored->bytes) != data) {
    complain(name, std::to_string(data) + " bytes of data for shape " + to_string(*fields.shape) + " of '" + *fields.descr + "'",
             "as many as the shape says", "the file is truncated or damaged");
  }
  return header;
}

HostArray parse_npy(std::span<const std::byte> bytes, std::string_view name) {
  const NpyHeader header = parse_npy_header(bytes, bytes.size(), name);
  if (!header.unreadable.empty()) {
    complain(name, header.unreadable, "an array of floats of 2, 4 or 8 bytes, integers, or booleans",
             header.dtype.starts_with('[') ? "save each field as an array of its own" : "in Python, x.astype(np.float32) before np.save");
  }
  const Stored stored = *stored_as(header.dtype);
  const auto data = bytes.subspan(header.begin);
  HostArray out = HostArray::empty(stored.dtype, header.shape);
  const auto as = [&]<class From, class To>(From, To) { convert<From, To>(data.data(), header, stored.swapped, out); };
  switch (stored.kind) {
    case 'f':
      if (stored.bytes == 8) as(double{}, double{});
      else if (stored.bytes == 4) as(float{}, float{});
      else as(Half{}, Half{});
      break;
    case 'i':
      if (stored.bytes == 8) as(std::int64_t{}, std::int64_t{});
      else if (stored.bytes == 4) as(std::int32_t{}, std::int32_t{});
      else if (stored.bytes == 2) as(std::int16_t{}, std::int16_t{});
      else as(std::int8_t{}, std::int8_t{});
      break;
    case 'u':
      if (stored.bytes == 8) as(std::uint64_t{}, std::uint64_t{});
      else if (stored.bytes == 4) as(std::uint32_t{}, std::uint32_t{});
      else if (stored.bytes == 2) as(std::uint16_t{}, std::uint16_t{});
      else as(std::uint8_t{}, std::uint8_t{});
      break;
    default: as(std::uint8_t{}, bool{});
  }
  return out;
}

HostArray read_npy(const std::string& path) { return parse_npy(read_file(path, {.op = "npy"}), path); }

Bytes npy_bytes(const HostArray& array, std::string_view name) {
  std::string header =
      "{'descr': '" + descr_of(array.dtype, name) + "', 'fortran_order': False, 'shape': " + to_string(array.shape) + ", }";
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');  // the data are aligned to 64 bytes
  header += '\n';
  std::string text(kMagic);
  text += {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  text += header;
  Bytes out(text.size() + array.bytes());
  std::memcpy(out.data(), text.data(), text.size());
  if (array.bytes() > 0) std::memcpy(out.data() + text.size(), array.buffer->data(), array.bytes());
  return out;
}

void write_npy(const std::string& path, const HostArray& array) { write_atomically(path, npy_bytes(array, path), "npy"); }

}  // namespace tegula::io
