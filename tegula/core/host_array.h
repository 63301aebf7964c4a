#pragma once
// A plain array in host memory: what readers produce, what writers take, what a tensor is made from.

#include <cstring>
#include <span>

#include "tegula/core/buffer.h"
#include "tegula/core/dtype.h"
#include "tegula/core/shape.h"

namespace tegula {

/// Dense row-major elements. Copies share the buffer.
struct HostArray {
  DType dtype = DType::f32;
  Shape shape;
  Ref<Buffer> buffer;

  /// Uninitialised elements.
  static HostArray empty(DType dtype, const Shape& shape) {
    return {dtype, shape, allocate_host(static_cast<std::size_t>(numel(shape)) * size_of(dtype))};
  }
  template <class T>
  static HostArray from(std::span<const T> values, const Shape& shape) {
    HostArray array = empty(dtype_of<T>(), shape);
    if (!values.empty()) std::memcpy(array.buffer->data(), values.data(), values.size_bytes());
    return array;
  }

  std::int64_t size() const { return numel(shape); }
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(dtype); }
  /// The elements as T, which must be the C++ type of `dtype`.
  template <class T>
  std::span<T> values() const {
    return {static_cast<T*>(buffer->data()), static_cast<std::size_t>(size())};
  }
};

}  // namespace tegula
