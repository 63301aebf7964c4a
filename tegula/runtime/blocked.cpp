#include "tegula/runtime/blocked.h"

namespace tegula::runtime {

std::int64_t block_of(const Blocked& blocked, int axis) {
  std::int64_t size = 1;
  for (int i = 0; i < blocked.axes.rank(); ++i) size *= blocked.axes[i] == axis ? blocked.sizes[i] : 1;
  return size;
}

std::int64_t elements(const Blocked& blocked) {
  std::int64_t last = 0, block = 1;  // the index at which the last block begins; its elements
  for (const std::int64_t size : blocked.sizes) block *= size;
  for (int axis = 0; axis < blocked.shape.rank(); ++axis) {
    if (blocked.shape[axis] == 0) return 0;
    last += (blocked.shape[axis] - 1) / block_of(blocked, axis) * blocked.strides[axis];
  }
  return last + block;
}

}  // namespace tegula::runtime
