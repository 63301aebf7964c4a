#pragma once
// Tensors that lie in blocks, as the kernels of libraries want weights.

#include <cstdint>

#include "tegula/core/shape.h"

namespace tegula::runtime {

/// How a tensor lies where strides alone cannot say it: axes are cut into blocks, one after another, whose elements lie together. The last block of an axis is
/// filled up with zeros.
struct Blocked {
  Shape shape = {};  // of the axes that are cut
  Dims strides = {};  // elements, of each axis: from one block to the next
  Dims axes = {}, sizes = {};  // of the blocks, the outermost first: which axis each cuts, and into pieces of how many
  bool any = false;  // of what a device is asked: as the call is fastest
  bool operator==(const Blocked&) const = default;
  /// Whether a tensor lies so, not by strides.
  explicit operator bool() const { return any || shape.rank() > 0; }
};

/// How many elements an axis has in one block of the outermost kind.
std::int64_t block_of(const Blocked& blocked, int axis);
/// Elements in memory, the zeros among them.
std::int64_t elements(const Blocked& blocked);

}  // namespace tegula::runtime
