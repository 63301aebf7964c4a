#pragma once
// How operands of products lie: where many read them, and in which dtype.

#include "tegula/runtime/device.h"

namespace tegula::runtime {

/// What a device is as well whose products are faster with operands that lie in one way than with those that lie in another.
class LaysOutOperands {
 public:
  virtual ~LaysOutOperands() = default;
  /// Whether `products` of this kind, one after another with the same operand `index` (0: a, 1: b), are faster with a row-major copy of it, the
  /// copy included.
  virtual bool wants_rows(const Matmul& description, int index, std::int64_t products) const = 0;
};

/// What a device is as well that has faster kernels for some small products of f32 than for the same of halves.
class PrefersTf32 {
 public:
  virtual ~PrefersTf32() = default;
  /// Whether this product of f32, rounded to TF32 inside, takes no longer than one of halves that lie so, casts not counted.
  virtual bool prefers_tf32(const Matmul& description) const = 0;
};

}  // namespace tegula::runtime
