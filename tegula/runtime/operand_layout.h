#pragma once
// Where operands lie that many products read.

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

}  // namespace tegula::runtime
