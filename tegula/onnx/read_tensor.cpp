#include "tegula/onnx/read_tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tegula/core/text.h"
#include "tegula/io/file.h"

namespace tegula::onnx {
namespace {

using io::Wire;
using io::WireField;
using io::WireReader;

constexpr std::int64_t kMostSparse = std::int64_t{1} << 28;  // elements that a sparse tensor is written out to

/// What a TensorProto has, before it is known which of its fields hold the numbers.
struct Fields {
  std::string name;
  Type type = Type::Undefined;
  std::vector<std::int64_t> sizes;
  std::span<const std::byte> raw;
  bool has_raw = false, is_external = false;
  std::vector<std::int64_t> integers;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::string location;
  std::uint64_t offset = 0;
  std::int64_t length = -1;
};

void append_doubles(const WireField& field, const WireReader& reader, std::vector<double>& to) {
  if (field.wire == Wire::Fixed64) {
    double value = 0;
    std::memcpy(&value, &field.value, sizeof value);
    to.push_back(value);
    return;
  }
  if (field.bytes.size() % sizeof(double) != 0) reader.fail("numbers of " + std::to_string(field.bytes.size()) + " bytes");
  const std::size_t before = to.size();
  to.resize(before + field.bytes.size() / sizeof(double));
  if (!field.bytes.empty()) std::memcpy(to.data() + before, field.bytes.data(), field.bytes.size());
}

std::uint64_t natural(const std::string& text, const WireReader& reader) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
    reader.fail("external data at \"" + text + "\"");
  return std::stoull(text);
}

void read_external(std::span<const std::byte> message, const Source& source, Fields& to) {
  WireReader reader(message, source.words);
  std::string key, value;
  for (WireField field; reader.next(field);) {
    if (field.number == 1) key = text_of(field);
    if (field.number == 2) value = text_of(field);
  }
  if (key == "location") to.location = value;
  if (key == "offset") to.offset = natural(value, reader);
  if (key == "length") to.length = static_cast<std::int64_t>(natural(value, reader));
}

Fields read_fields(std::span<const std::byte> message, const Source& source) {
  Fields out;
  WireReader reader(message, source.words);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1: append_integers(field, source, out.sizes); break;
      case 2: out.type = static_cast<Type>(field.value); break;
      case 4: append_floats(field, source, out.floats); break;
      case 5:
      case 7:
      case 11: append_integers(field, source, out.integers); break;
      case 8: out.name = text_of(field); break;
      case 9: out.raw = field.bytes, out.has_raw = true; break;
      case 10: append_doubles(field, reader, out.doubles); break;
      case 13: read_external(field.bytes, source, out); break;
      case 14: out.is_external = field.value == 1; break;
      default: break;
    }
  }
  return out;
}

Shape shape_of(const Fields& fields, const WireReader& reader) {
  if (fields.sizes.size() > static_cast<std::size_t>(kMaxRank))
    reader.fail("tensor \"" + fields.name + "\" of " + std::to_string(fields.sizes.size()) + " axes (here at most " +
                std::to_string(kMaxRank) + ")");
  Shape shape;
  for (const std::int64_t size : fields.sizes) {
    if (size < 0) reader.fail("tensor \"" + fields.name + "\" with a size of " + std::to_string(size));
    shape.push_back(size);
  }
  if (!countable(shape)) reader.fail("tensor \"" + fields.name + "\" of shape " + to_string(shape));
  return shape;
}

int bits_of(Type type) {
  switch (type) {
    case Type::Float8E4M3Fnuz:
    case Type::Float8E5M2Fnuz:
    case Type::Float8E8M0: return 8;
    case Type::Float4E2M1:
    case Type::Uint4:
    case Type::Int4: return 4;
    case Type::Uint2:
    case Type::Int2: return 2;
    default: return 8 * static_cast<int>(size_of(dtype_of(type)));
  }
}

/// Numbers of 2, 4 and 8 bits, the first in the lowest bits of a byte.
void unpack(std::span<const std::byte> packed, Type type, const HostArray& to) {
  const int bits = bits_of(type), each = 8 / bits;  // of a byte
  const bool has_sign = type == Type::Int4 || type == Type::Int2;
  auto* out = static_cast<std::uint8_t*>(to.buffer->data());
  for (std::int64_t i = 0; i < to.size(); ++i) {
    const auto byte = static_cast<unsigned>(packed[static_cast<std::size_t>(i / each)]);
    unsigned value = byte >> (bits * (i % each)) & ((1u << bits) - 1);
    if (is_small_float(type)) {
      to.values<float>()[static_cast<std::size_t>(i)] = small_float(type, value);
      continue;
    }
    if (has_sign && value >> (bits - 1)) value |= ~0u << bits;
    out[i] = static_cast<std::uint8_t>(value);
  }
}

HostArray from_raw(std::span<const std::byte> raw, const Fields& fields, const Shape& shape, const WireReader& reader) {
  const int bits = bits_of(fields.type);
  const std::int64_t wanted = bits < 8 ? (numel(shape) + 8 / bits - 1) / (8 / bits) : numel(shape) * (bits / 8);
  if (static_cast<std::int64_t>(raw.size()) != wanted)
    reader.fail("tensor \"" + fields.name + "\" of shape " + to_string(shape) + " and type " + name_of(fields.type) + " in " +
                std::to_string(raw.size()) + " bytes");
  HostArray out = HostArray::empty(dtype_of(fields.type), shape);
  if (raw.empty()) return out;
  if (bits < 8 || is_small_float(fields.type)) unpack(raw, fields.type, out);
  else std::memcpy(out.buffer->data(), raw.data(), raw.size());
  if (out.dtype == DType::boolean)
    for (auto& byte : std::span(static_cast<std::uint8_t*>(out.buffer->data()), out.bytes())) byte = byte != 0;
  return out;
}

HostArray from_external(const Fields& fields, const Shape& shape, const Source& source, const WireReader& reader) {
  const std::string& name = fields.location;
  const bool leaves = name.empty() || name.front() == '/' || name.find("..") != std::string::npos || name.find('\0') != std::string::npos;
  if (leaves || source.folder.empty())
    reader.fail("tensor \"" + fields.name + "\" in the file \"" + printable(name) + "\", which must lie in the model's folder");
  const io::InputFile file(source.folder + "/" + name, source.words.op);
  if (fields.offset > file.size()) reader.fail("tensor \"" + fields.name + "\" behind the end of " + printable(name));
  const std::uint64_t left = file.size() - fields.offset;
  const std::uint64_t bytes = fields.length >= 0 ? static_cast<std::uint64_t>(fields.length) : left;
  if (bytes > left) reader.fail("tensor \"" + fields.name + "\" behind the end of " + printable(name));
  if (bits_of(fields.type) >= 8 && !is_small_float(fields.type) &&
      static_cast<std::uint64_t>(numel(shape)) * size_of(dtype_of(fields.type)) == bytes) {
    HostArray out = HostArray::empty(dtype_of(fields.type), shape);
    if (bytes > 0 && out.dtype != DType::boolean) {
      file.read_at(fields.offset, {static_cast<std::byte*>(out.buffer->data()), static_cast<std::size_t>(bytes)});
      return out;
    }
  }
  io::Bytes raw(static_cast<std::size_t>(bytes));
  file.read_at(fields.offset, raw);
  return from_raw(raw, fields, shape, reader);
}

/// int32_data, int64_data and uint64_data: each number in a field of its own, halves and f8 as their bits, numbers of 2 and 4 bits packed into bytes.
HostArray from_integers(const Fields& fields, const Shape& shape, const WireReader& reader) {
  if (bits_of(fields.type) < 8 || is_small_float(fields.type)) {
    io::Bytes packed;
    packed.reserve(fields.integers.size());
    for (const std::int64_t value : fields.integers) packed.push_back(static_cast<std::byte>(value & 255));
    return from_raw(packed, fields, shape, reader);
  }
  HostArray out = HostArray::empty(dtype_of(fields.type), shape);
  visit(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto values = out.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (kIsStoredFloat<T>) values[i].bits = static_cast<decltype(values[i].bits)>(fields.integers[i]);
      else if constexpr (std::is_same_v<T, bool>) values[i] = fields.integers[i] != 0;
      else values[i] = static_cast<T>(fields.integers[i]);
    }
  });
  return out;
}

}  // namespace

std::string text_of(const WireField& field) { return {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()}; }

void append_integers(const WireField& field, const Source& source, std::vector<std::int64_t>& to) {
  if (field.wire == Wire::Varint) {
    to.push_back(static_cast<std::int64_t>(field.value));
    return;
  }
  std::size_t at = 0;
  const auto bytes = field.bytes;
  const WireReader reader(bytes, source.words);
  while (at < bytes.size()) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      if (at == bytes.size() || shift > 63) reader.fail("the end of the data within a number");
      const auto byte = static_cast<std::uint64_t>(bytes[at++]);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    to.push_back(static_cast<std::int64_t>(value));
  }
}

void append_floats(const WireField& field, const Source& source, std::vector<float>& to) {
  if (field.wire == Wire::Fixed32) {
    const auto bits = static_cast<std::uint32_t>(field.value);
    to.push_back(std::bit_cast<float>(bits));
    return;
  }
  if (field.bytes.size() % sizeof(float) != 0)
    WireReader(field.bytes, source.words).fail("numbers of " + std::to_string(field.bytes.size()) + " bytes");
  const std::size_t before = to.size();
  to.resize(before + field.bytes.size() / sizeof(float));
  if (!field.bytes.empty()) std::memcpy(to.data() + before, field.bytes.data(), field.bytes.size());
}

HostArray packed_int4(const HostArray& numbers) {
  HostArray out = HostArray::empty(u8, {(numbers.size() + 1) / 2});
  const auto* const from = static_cast<const std::uint8_t*>(numbers.size() > 0 ? numbers.buffer->data() : nullptr);
  const auto to = out.values<std::uint8_t>();
  for (std::int64_t i = 0; i < numbers.size(); ++i) {
    const auto at = static_cast<std::size_t>(i / 2);
    const unsigned half = from[i] & 15u;
    to[at] = static_cast<std::uint8_t>(i % 2 == 0 ? half : to[at] | half << 4);
  }
  return out;
}

StoredArray read_tensor(std::span<const std::byte> message, const Source& source) {
  const WireReader reader(message, source.words);
  const Fields fields = read_fields(message, source);
  StoredArray out{fields.name, fields.type, {}};
  if (!has_dtype(fields.type)) return out;  // check() and the node that reads it say so
  const Shape shape = shape_of(fields, reader);
  if (fields.is_external) out.array = from_external(fields, shape, source, reader);
  else if (fields.has_raw) out.array = from_raw(fields.raw, fields, shape, reader);
  else if (bits_of(fields.type) < 8 || is_small_float(fields.type)) out.array = from_integers(fields, shape, reader);
  else {
    const bool is_float = fields.type == Type::Float, is_double = fields.type == Type::Double;
    const std::size_t count = is_float ? fields.floats.size() : is_double ? fields.doubles.size() : fields.integers.size();
    if (static_cast<std::int64_t>(count) != numel(shape))
      reader.fail("tensor \"" + fields.name + "\" of shape " + to_string(shape) + " with " + std::to_string(count) + " elements");
    if (is_float) out.array = HostArray::from(std::span<const float>(fields.floats), shape);
    else if (is_double) out.array = HostArray::from(std::span<const double>(fields.doubles), shape);
    else out.array = from_integers(fields, shape, reader);
  }
  return out;
}

StoredArray read_sparse_tensor(std::span<const std::byte> message, const Source& source) {
  StoredArray values, indices;
  Fields dense;
  WireReader reader(message, source.words);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) values = read_tensor(field.bytes, source);
    if (field.number == 2) indices = read_tensor(field.bytes, source);
    if (field.number == 3) append_integers(field, source, dense.sizes);
  }
  const Shape shape = shape_of(dense, reader);
  const auto bad = [&] { reader.fail("a sparse tensor whose indices do not fit its shape " + to_string(shape)); };
  StoredArray result{values.name, values.type, {}};
  if (!values.array.buffer) return result;
  HostArray& out = result.array;
  const std::int64_t count = values.array.size();
  if (!indices.array.buffer || indices.array.dtype != i64 || numel(shape) > kMostSparse) bad();
  const bool is_flat = indices.array.shape.rank() == 1;
  const std::int64_t each = is_flat ? 1 : shape.rank();
  if (indices.array.size() != count * each) bad();
  out = HostArray::empty(values.array.dtype, shape);
  const std::size_t width = size_of(values.array.dtype);
  if (out.bytes() > 0) std::memset(out.buffer->data(), 0, out.bytes());
  const Strides strides = dense_strides(shape);
  const auto places = indices.array.values<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    for (std::int64_t axis = 0; axis < each; ++axis) {
      const std::int64_t index = places[static_cast<std::size_t>(i * each + axis)];
      if (index < 0 || index >= (is_flat ? numel(shape) : shape[static_cast<int>(axis)])) bad();
      at += index * (is_flat ? 1 : strides[static_cast<int>(axis)]);
    }
    std::memcpy(static_cast<std::byte*>(out.buffer->data()) + static_cast<std::size_t>(at) * width,
                static_cast<const std::byte*>(values.array.buffer->data()) + static_cast<std::size_t>(i) * width, width);
  }
  return result;
}

}  // namespace tegula::onnx
