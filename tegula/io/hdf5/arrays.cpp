// Types, shapes and elements of HDF5's arrays: sections IV.A.2.b, d, i, l and III.A.1 of the format specification.

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <set>

#include "tegula/core/error.h"
#include "tegula/io/file.h"
#include "tegula/io/hdf5/image.h"

namespace tegula::io::hdf5 {
namespace {

void set_integer(Type& type, std::uint64_t bits) {
  const bool is_signed = bits >> 3 & 1;
  constexpr DType kSigned[] = {DType::i8, DType::i16, DType::i32, DType::i64},
                  kUnsigned[] = {DType::u8, DType::u16, DType::u32, DType::u64};
  for (int i = 0; i < 4; ++i) {
    if (type.bytes == std::uint64_t{1} << i) type.kind = Type::Kind::Number, type.dtype = is_signed ? kSigned[i] : kUnsigned[i];
  }
  type.is_big_endian = bits & 1;
  type.words = "integers of " + std::to_string(type.bytes) + " bytes";
}

void set_float(Type& type, std::uint64_t bits, Cursor& in) {
  in.skip(4);  // where the bits begin, and how many there are
  in.skip(1);
  const std::uint64_t exponent = in.byte();
  in.skip(1);
  const std::uint64_t mantissa = in.byte();
  struct Form {
    std::uint64_t bytes, exponent, mantissa;
    DType dtype;
  };
  for (const Form& form : {Form{8, 11, 52, DType::f64}, {4, 8, 23, DType::f32}, {2, 5, 10, DType::f16}, {2, 8, 7, DType::bf16}}) {
    if (type.bytes == form.bytes && exponent == form.exponent && mantissa == form.mantissa)
      type.kind = Type::Kind::Number, type.dtype = form.dtype;
  }
  type.is_big_endian = bits & 1;
  if (bits >> 6 & 1) type.kind = Type::Kind::Other;  // VAX
  type.words = "floats of " + std::to_string(type.bytes) + " bytes";
}

/// h5py's booleans: an enumeration of one byte, FALSE and TRUE.
void set_enumeration(Type& type, std::uint64_t bits, const Image& image, Cursor& in) {
  const Type base = parse_type(image, in);
  type.words = "an enumeration";
  if (base.kind != Type::Kind::Number || base.bytes != 1 || (bits & 0xffff) != 2) return;
  const auto rest = in.take(in.left());
  const std::string_view names(reinterpret_cast<const char*>(rest.data()), rest.size());
  if (names.find("FALSE") != std::string_view::npos && names.find("TRUE") != std::string_view::npos)
    type.kind = Type::Kind::Number, type.dtype = DType::boolean;
}

void swap_bytes(std::span<std::byte> bytes, std::size_t width) {
  for (std::size_t at = 0; at + width <= bytes.size(); at += width)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
}

struct Filter {
  std::uint64_t id = 0;
  std::uint64_t value = 0;  // the first of its values
};

std::vector<Filter> parse_filters(const Image& image, std::span<const std::byte> message) {
  std::vector<Filter> filters;
  if (message.empty()) return filters;
  Cursor in(image, message);
  const std::uint64_t version = in.byte(), count = in.byte();
  if (version != 1 && version != 2) image.fail("filters of version " + std::to_string(version));
  if (version == 1) in.skip(6);
  for (std::uint64_t i = 0; i < count; ++i) {
    Filter filter{.id = in.number(2)};
    const std::uint64_t name = version == 1 || filter.id >= 256 ? in.number(2) : 0;
    in.skip(2);
    const std::uint64_t values = in.number(2);
    in.skip(version == 1 ? (name + 7) / 8 * 8 : name);
    for (std::uint64_t v = 0; v < values; ++v) {
      const std::uint64_t value = in.number(4);
      if (v == 0) filter.value = value;
    }
    if (version == 1 && values % 2 == 1) in.skip(4);
    if (filter.id < 1 || filter.id > 3)
      image.fail("the filter " + std::to_string(filter.id), "the filters deflate, shuffle and fletcher32",
                 "in Python: h5py writes the array again with compression=\"gzip\", or without");
    filters.push_back(filter);
  }
  return filters;
}

Bytes inflated(const Image& image, std::span<const std::byte> stored, std::size_t bytes) {
  Bytes out(bytes);
  auto length = static_cast<uLongf>(bytes);
  const int status = ::uncompress(reinterpret_cast<Bytef*>(out.data()), &length, reinterpret_cast<const Bytef*>(stored.data()),
                                  static_cast<uLong>(stored.size()));
  if (status != Z_OK || length != bytes) image.damaged("compressed elements of another length");
  return out;
}

/// Bytes of equal place in their elements lie together in the file.
Bytes unshuffled(std::span<const std::byte> stored, std::size_t width) {
  Bytes out(stored.begin(), stored.end());
  if (width == 0 || width > stored.size()) return out;
  const std::size_t count = stored.size() / width;
  for (std::size_t byte = 0, at = 0; byte < width; ++byte)
    for (std::size_t i = 0; i < count; ++i) out[i * width + byte] = stored[at++];
  return out;
}

/// Copies a chunk, cut at the array's ends.
void place_chunk(const Bytes& from, const Chunk& chunk, const std::vector<std::uint64_t>& sizes, const std::vector<std::uint64_t>& shape,
                 std::size_t width, std::byte* into) {
  const std::size_t axes = shape.size();
  if (axes == 0) return void(std::memcpy(into, from.data(), width));
  std::vector<std::uint64_t> index(axes, 0);
  const std::uint64_t row = std::min(sizes[axes - 1], shape[axes - 1] - chunk.begin[axes - 1]);
  for (;;) {
    std::uint64_t source = 0, target = 0;
    for (std::size_t i = 0; i < axes; ++i) source = source * sizes[i] + index[i], target = target * shape[i] + chunk.begin[i] + index[i];
    std::memcpy(into + target * width, from.data() + source * width, static_cast<std::size_t>(row) * width);
    std::size_t axis = axes - 1;
    while (axis-- > 0) {
      if (++index[axis] < std::min(sizes[axis], shape[axis] - chunk.begin[axis])) break;
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

/// Every place of the grid holds one chunk, so that each element is written once.
void read_chunks(Image& image, const Chunks& chunks, const std::vector<Filter>& all_filters, const std::vector<std::uint64_t>& shape,
                 std::size_t width, std::byte* into) {
  const std::uint64_t chunk_bytes = product(chunks.sizes, width, image.bytes.size() * kMostExpansion);
  std::uint64_t expected = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) expected *= (shape[i] - 1) / chunks.sizes[i] + 1;
  if (chunks.all.size() != expected)
    image.fail(std::to_string(chunks.all.size()) + " of " + std::to_string(expected) + " chunks of an array",
               "arrays that were written whole");
  std::set<std::vector<std::uint64_t>> places;
  for (const Chunk& chunk : chunks.all) {
    if (!places.insert(chunk.begin).second) image.damaged("two chunks at one place");
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (chunk.begin[i] >= shape[i] || chunk.begin[i] % chunks.sizes[i] != 0) image.damaged("a chunk outside of its array");
    bool is_cut = false;
    for (std::size_t i = 0; i < shape.size(); ++i) is_cut = is_cut || chunks.sizes[i] > shape[i] - chunk.begin[i];
    const std::span<const Filter> filters(all_filters.data(), is_cut && chunks.ends_are_plain ? 0 : all_filters.size());
    Bytes bytes(chunk.stored.begin(), chunk.stored.end());
    for (std::size_t i = filters.size(); i-- > 0;) {
      if (i < 32 && chunk.mask >> i & 1) continue;
      if (filters[i].id == 3) {
        if (bytes.size() < 4) image.damaged("a chunk without its checksum");
        bytes.resize(bytes.size() - 4);
      } else if (filters[i].id == 2) {
        bytes = unshuffled(bytes, static_cast<std::size_t>(filters[i].value));
      } else {
        // A checksum may lie within what was compressed.
        const bool has_sum =
            std::any_of(filters.begin(), filters.begin() + static_cast<std::ptrdiff_t>(i), [](const Filter& f) { return f.id == 3; });
        bytes = inflated(image, bytes, static_cast<std::size_t>(chunk_bytes) + (has_sum ? 4 : 0));
      }
    }
    if (bytes.size() != chunk_bytes)
      image.damaged("a chunk of " + std::to_string(bytes.size()) + " bytes instead of " + std::to_string(chunk_bytes));
    place_chunk(bytes, chunk, chunks.sizes, shape, width, into);
  }
}

}  // namespace

std::uint64_t product(const std::vector<std::uint64_t>& sizes, std::uint64_t factor, std::uint64_t most) {
  std::uint64_t out = factor;
  for (const std::uint64_t size : sizes) {
    if (size == 0) return 0;
    if (out > most / size) return kNowhere;
    out *= size;
  }
  return out;
}

Type parse_type(const Image& image, Cursor& in) {
  const std::uint64_t first = in.byte(), bits = in.number(3);
  Type type{.bytes = in.number(4)};
  const std::uint64_t version = first >> 4;
  if (version < 1 || version > 5) image.damaged("a type of version " + std::to_string(version));
  switch (first & 15) {
    case 0: set_integer(type, bits), in.skip(4); break;
    case 1: set_float(type, bits, in), in.skip(4); break;
    case 3: type.kind = Type::Kind::Text, type.words = "texts"; break;
    case 5: type.kind = Type::Kind::Opaque, type.words = "bytes"; break;
    case 6: type.words = "records"; break;
    case 7: type.words = "references"; break;
    case 8: set_enumeration(type, bits, image, in); break;
    case 9:
      type.words = "lists";
      if ((bits & 15) == 1) type.kind = Type::Kind::TextsElsewhere, type.words = "texts";
      break;
    default: type.words = "a type of class " + std::to_string(first & 15);
  }
  return type;
}

Space parse_space(const Image& image, Cursor& in) {
  const std::uint64_t version = in.byte(), axes = in.byte();
  if (version != 1 && version != 2) image.damaged("a shape of version " + std::to_string(version));
  const bool has_most = in.byte() & 1, holds_nothing = in.byte() == 2 && version == 2;
  if (version == 1) in.skip(4);
  Space space;
  for (std::uint64_t i = 0; i < axes; ++i) space.sizes.push_back(in.address());
  for (std::uint64_t i = 0; i < axes; ++i) space.most.push_back(has_most ? in.address() : space.sizes[static_cast<std::size_t>(i)]);
  if (holds_nothing) return {.sizes = {0}, .most = {0}};
  return space;
}

HostArray read_array(Image& image, const std::string& path, const Type& type, const Space& space, const Storage& storage,
                     std::uint64_t& taken) {
  const std::vector<std::uint64_t>& shape = space.sizes;
  const std::size_t width = size_of(type.dtype);
  if (shape.size() > static_cast<std::size_t>(kMaxRank))
    image.fail(path + ": " + std::to_string(shape.size()) + " axes", "at most " + std::to_string(kMaxRank));
  const std::uint64_t most = image.bytes.size() * kMostExpansion, bytes = product(shape, width, most);
  if (bytes == kNowhere) image.damaged(path + ": more elements than the file can hold");
  Shape sizes;
  for (const std::uint64_t size : shape) {
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      image.damaged(path + ": an axis of " + std::to_string(size));
    sizes.push_back(static_cast<std::int64_t>(size));
  }
  const auto take = [&](std::uint64_t count) {
    taken += count;
    if (taken > image.bytes.size()) image.damaged(path + ": arrays that lie over each other");
  };
  Cursor in(image, storage.layout);
  const std::uint64_t version = in.byte();
  if (version < 3 || version > 5) image.fail(path + ": a layout of version " + std::to_string(version), "3, 4 or 5");
  const std::uint64_t form = in.byte();
  if (bytes == 0) return HostArray::empty(type.dtype, sizes);
  HostArray out;
  const auto copied = [&](std::span<const std::byte> from) {
    if (from.size() < bytes) image.damaged(path + ": " + std::to_string(from.size()) + " bytes for " + to_string(sizes));
    take(bytes);
    out = HostArray::empty(type.dtype, sizes);
    std::memcpy(out.buffer->data(), from.data(), static_cast<std::size_t>(bytes));
  };
  if (form == 0) {
    const std::uint64_t count = in.number(2);
    copied(in.take(count));
  } else if (form == 1) {
    const std::uint64_t address = in.address();
    if (address == kNowhere) image.fail(path + ": an array that was never written", "elements");
    copied(image.at(address, bytes));
  } else if (form == 2) {
    const Chunks chunks = find_chunks(image, in, version, space, width);
    if (chunks.sizes.size() != shape.size() || std::ranges::find(chunks.sizes, 0u) != chunks.sizes.end())
      image.damaged(path + ": chunks of other axes");
    const std::uint64_t chunk_bytes = product(chunks.sizes, width, most);
    std::uint64_t stored = 0;
    for (const Chunk& chunk : chunks.all) stored += chunk.stored.size();
    take(stored);
    if (chunk_bytes == kNowhere || chunk_bytes > stored * kMostExpansion + width || bytes > chunks.all.size() * chunk_bytes ||
        bytes > stored * kMostExpansion)
      image.damaged(path + ": " + std::to_string(stored) + " stored bytes for " + to_string(sizes));
    out = HostArray::empty(type.dtype, sizes);
    read_chunks(image, chunks, parse_filters(image, storage.filters), shape, width, static_cast<std::byte*>(out.buffer->data()));
  } else {
    image.fail(path + ": an array whose elements lie in other files", "elements in the file itself");
  }
  const std::span all(static_cast<std::byte*>(out.buffer->data()), out.bytes());
  if (type.is_big_endian && width > 1) swap_bytes(all, width);
  if (type.dtype == DType::boolean)
    for (std::byte& one : all) one = one != std::byte{0} ? std::byte{1} : std::byte{0};
  return out;
}

std::vector<std::string> read_texts(Image& image, const Type& type, const std::vector<std::uint64_t>& shape, Cursor& in) {
  const std::uint64_t width = type.kind == Type::Kind::Text ? type.bytes : 16, count = product(shape, 1, in.left());
  if (width == 0 || count > in.left() / width) image.damaged("texts that the file does not hold");
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string text;
    if (type.kind == Type::Kind::Text) {
      text = in.text(width);
    } else {
      const std::uint64_t length = in.number(4), collection = in.address(), index = in.number(4);
      if (length > 0) {
        const auto object = global_object(image, collection, index);
        text.assign(reinterpret_cast<const char*>(object.data()), std::min<std::size_t>(object.size(), static_cast<std::size_t>(length)));
      }
    }
    image.text_bytes += text.size();
    if (image.text_bytes > image.bytes.size()) image.damaged("texts that lie over each other");
    text.resize(text.find_last_not_of('\0') + 1);
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace tegula::io::hdf5
