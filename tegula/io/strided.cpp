#include "tegula/io/strided.h"

#include <cstring>
#include <vector>

namespace tegula::io {

HostArray strided_copy(const HostArray& all, std::int64_t first, const Shape& shape, std::span<const std::int64_t> strides) {
  HostArray out = HostArray::empty(all.dtype, shape);
  const std::size_t width = size_of(all.dtype);
  const auto* from = static_cast<const std::byte*>(all.buffer->data());
  auto* to = static_cast<std::byte*>(out.buffer->data());
  std::vector<std::int64_t> index(strides.size(), 0);
  std::int64_t at = first;
  for (std::int64_t i = 0, count = out.size(); i < count; ++i, to += width) {
    std::memcpy(to, from + static_cast<std::size_t>(at) * width, width);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < shape[static_cast<int>(axis)]) break;
      at -= index[axis] * strides[axis];
      index[axis] = 0;
    }
  }
  return out;
}

HostArray permuted(const HostArray& array, std::span<const int> axes) {
  const Strides dense = dense_strides(array.shape);
  Shape shape;
  std::vector<std::int64_t> strides;
  for (const int axis : axes) shape.push_back(array.shape[axis]), strides.push_back(dense[axis]);
  return strided_copy(array, 0, shape, strides);
}

}  // namespace tegula::io
