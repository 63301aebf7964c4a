#include "tegula/onnx/read_tensor.h"

#include <cstring>

#include "tegula/core/text.h"
#include "tegula/io/file.h"

namespace tegula::onnx {
namespace {

constexpr std::uint64_t kMostReads = 8;  // of a file of external data

using Sizes = google::protobuf::RepeatedField<std::int64_t>;

std::string called(const proto::Tensor& from) { return "tensor \"" + from.name() + "\""; }

Shape shape_of(const Sizes& sizes, const std::string& called, const Source& source) {
  if (sizes.size() > kMaxRank)
    source.fail(called + " of " + std::to_string(sizes.size()) + " axes (here at most " + std::to_string(kMaxRank) + ")");
  Shape shape;
  for (const std::int64_t size : sizes) {
    if (size < 0) source.fail(called + " with a size of " + std::to_string(size));
    shape.push_back(size);
  }
  if (!countable(shape)) source.fail(called + " of shape " + to_string(shape));
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

HostArray from_raw(std::span<const std::byte> raw, const proto::Tensor& from, const Shape& shape, const Source& source) {
  const auto type = static_cast<Type>(from.data_type());
  const int bits = bits_of(type);
  const std::int64_t wanted = bits < 8 ? (numel(shape) + 8 / bits - 1) / (8 / bits) : numel(shape) * (bits / 8);
  if (static_cast<std::int64_t>(raw.size()) != wanted)
    source.fail(called(from) + " of shape " + to_string(shape) + " and type " + name_of(type) + " in " + std::to_string(raw.size()) +
                " bytes");
  HostArray out = HostArray::empty(dtype_of(type), shape);
  if (raw.empty()) return out;
  if (bits < 8 || is_small_float(type)) unpack(raw, type, out);
  else std::memcpy(out.buffer->data(), raw.data(), raw.size());
  if (out.dtype == DType::boolean)
    for (auto& byte : std::span(static_cast<std::uint8_t*>(out.buffer->data()), out.bytes())) byte = byte != 0;
  return out;
}

/// The place that the entries of external_data name.
struct Place {
  std::string file;
  std::uint64_t offset = 0;
  std::int64_t length = -1;  // -1: to the end

  Place(const proto::Tensor& from, const Source& source) {
    for (const proto::Entry& one : from.external_data()) {
      if (one.key() == "location") file = one.value();
      if (one.key() == "offset") offset = natural(one.value(), source);
      if (one.key() == "length") length = static_cast<std::int64_t>(natural(one.value(), source));
    }
  }
  static std::uint64_t natural(const std::string& text, const Source& source) {
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
      source.fail("external data at \"" + text + "\"");
    return std::stoull(text);
  }
};

HostArray from_external(const proto::Tensor& from, const Shape& shape, Source& source) {
  const Place place(from, source);
  const std::string& name = place.file;
  const bool leaves = name.empty() || name.front() == '/' || name.find("..") != std::string::npos || name.find('\0') != std::string::npos;
  if (leaves || source.folder.empty()) source.fail(called(from) + " in the file \"" + name + "\", which must lie in the model's folder");
  const io::InputFile file(source.folder + "/" + name, "onnx");
  const std::uint64_t left = file.size() - std::min(place.offset, file.size());
  const std::uint64_t bytes = place.length >= 0 ? static_cast<std::uint64_t>(place.length) : left;
  if (place.offset > file.size() || bytes > left) source.fail(called(from) + " behind the end of " + name);
  if ((source.external[name] += bytes) > kMostReads * file.size())
    source.fail("tensors of more than " + std::to_string(kMostReads) + " times the bytes of " + name);
  const auto type = static_cast<Type>(from.data_type());
  const bool is_as_stored = bits_of(type) >= 8 && !is_small_float(type) && dtype_of(type) != DType::boolean;
  if (bytes > 0 && is_as_stored && static_cast<std::uint64_t>(numel(shape)) * size_of(dtype_of(type)) == bytes) {
    HostArray out = HostArray::empty(dtype_of(type), shape);
    file.read_at(place.offset, {static_cast<std::byte*>(out.buffer->data()), static_cast<std::size_t>(bytes)});
    return out;
  }
  io::Bytes raw(static_cast<std::size_t>(bytes));
  file.read_at(place.offset, raw);
  return from_raw(raw, from, shape, source);
}

/// The list of the type: halves and f8 as their bits, numbers of 2 and 4 bits packed into bytes.
template <class Number>
HostArray from_list(const google::protobuf::RepeatedField<Number>& numbers, const proto::Tensor& from, const Shape& shape,
                    const Source& source) {
  const auto type = static_cast<Type>(from.data_type());
  if (bits_of(type) < 8 || is_small_float(type)) {
    io::Bytes packed;
    for (const Number number : numbers) packed.push_back(static_cast<std::byte>(static_cast<std::uint8_t>(number)));
    return from_raw(packed, from, shape, source);
  }
  if (numbers.size() != numel(shape))
    source.fail(called(from) + " of shape " + to_string(shape) + " with " + std::to_string(numbers.size()) + " elements");
  HostArray out = HostArray::empty(dtype_of(type), shape);
  visit(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto values = out.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Number number = numbers[static_cast<int>(i)];
      if constexpr (kIsStoredFloat<T>) values[i].bits = static_cast<decltype(values[i].bits)>(number);
      else if constexpr (std::is_same_v<T, bool>) values[i] = number != 0;
      else values[i] = static_cast<T>(number);
    }
  });
  return out;
}

}  // namespace

StoredArray array_of(proto::Tensor& from, Source& source) {
  StoredArray out{from.name(), static_cast<Type>(from.data_type()), {}};
  if (!has_dtype(out.type)) return out;  // check() and the node that reads it say so
  const Shape shape = shape_of(from.dims(), called(from), source);
  if (from.data_location() == 1) out.array = from_external(from, shape, source);
  else if (from.has_raw_data()) {
    std::string raw;
    raw.swap(*from.mutable_raw_data());
    out.array = from_raw(std::as_bytes(std::span(raw)), from, shape, source);
  } else switch (out.type) {
      case Type::Float: out.array = from_list(from.float_data(), from, shape, source); break;
      case Type::Double: out.array = from_list(from.double_data(), from, shape, source); break;
      case Type::Int64: out.array = from_list(from.int64_data(), from, shape, source); break;
      case Type::Uint32:
      case Type::Uint64: out.array = from_list(from.uint64_data(), from, shape, source); break;
      default: out.array = from_list(from.int32_data(), from, shape, source); break;
    }
  return out;
}

StoredArray array_of(proto::SparseTensor& from, Source& source) {
  const StoredArray values = array_of(*from.mutable_values(), source), indices = array_of(*from.mutable_indices(), source);
  const Shape shape = shape_of(from.dims(), "a sparse tensor", source);
  const auto bad = [&] { source.fail("a sparse tensor whose indices do not fit its shape " + to_string(shape)); };
  StoredArray result{values.name, values.type, {}};
  if (!values.array.buffer) return result;
  HostArray& out = result.array;
  const std::int64_t count = values.array.size();
  if (!indices.array.buffer || indices.array.dtype != i64 || (source.sparse_left -= std::max<std::int64_t>(numel(shape), 1)) < 0) bad();
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
