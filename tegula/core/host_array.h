#pragma once
// A plain array in host memory: the result of readers, the input of writers and of tensors.

#include <cstring>
#include <span>
#include <string_view>

#include "tegula/core/buffer.h"
#include "tegula/core/dtype.h"
#include "tegula/core/line.h"
#include "tegula/core/shape.h"

namespace tegula {

/// Throws Error in the name of `op` unless every size is at least 0 and the elements can be counted: asked wherever a leaf is born.
void require_shape(std::string_view op, const Shape& shape, const Line& where = {});
/// Throws: `count` elements do not fill `shape`.
[[noreturn]] void throw_element_count(std::string_view op, std::size_t count, const Shape& shape, const Line& where);
[[noreturn]] void throw_no_buffer(std::string_view op, const Line& where = {});

/// Dense row-major elements. Copies share the buffer.
struct HostArray {
  DType dtype = DType::f32;
  Shape shape;
  Ref<Buffer> buffer;

  /// Uninitialised elements. Throws Error for a negative size, or more elements than 64 bits count.
  static HostArray empty(DType dtype, const Shape& shape);
  template <class T>
  static HostArray from(std::span<const T> values, const Shape& shape) {
    HostArray array = empty(dtype_of<T>(), shape);
    if (static_cast<std::int64_t>(values.size()) != array.size()) throw_element_count("HostArray", values.size(), shape, {});
    if (!values.empty()) std::memcpy(array.buffer->data(), values.data(), values.size_bytes());
    return array;
  }

  std::int64_t size() const { return numel(shape); }
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(dtype); }
  /// The elements as T, which must be the C++ type of `dtype`. Throws Error without a buffer.
  template <class T>
  std::span<T> values() const {
    if (!buffer) throw_no_buffer("HostArray");
    return {static_cast<T*>(buffer->data()), static_cast<std::size_t>(size())};
  }
};

}  // namespace tegula
