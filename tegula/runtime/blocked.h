#pragma once
// Tensors that lie in blocks, as the kernels of libraries want weights.

#include <cstdint>

#include "tegula/core/shape.h"

namespace tegula::runtime {

/// The layout of a tensor where strides alone cannot say it: axes are cut into blocks, one after another, whose elements lie together. The last block of an
/// axis is filled up with zeros.
struct Blocked {
  Shape shape = {};  // the sizes of the axes that are cut
  Dims strides = {};  // elements, of each axis: from one block to the next
  Dims axes = {}, sizes = {};  // of the blocks, the outermost first: the axis that each cuts, and the size of its pieces
  bool any = false;  // in a question to a device: the blocks with which the call is fastest
  bool operator==(const Blocked&) const = default;
  /// True if the tensor lies in blocks instead of by strides.
  explicit operator bool() const { return any || shape.rank() > 0; }
};

/// The number of elements that an axis has in one block of the outermost kind.
std::int64_t block_of(const Blocked& blocked, int axis);
/// Elements in memory, the zeros among them.
std::int64_t elements(const Blocked& blocked);

}  // namespace tegula::runtime
