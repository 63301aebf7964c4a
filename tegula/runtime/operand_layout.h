#pragma once
// How operands and results of calls lie: where many read them, in which dtype, and as slices of larger tensors.

#include "tegula/runtime/device.h"

namespace tegula::runtime {

/// Optional: a device that multiplies faster with row-major operands.
class LaysOutOperands {
 public:
  virtual ~LaysOutOperands() = default;
  /// Whether `products` of this kind, one after another with the same operand `index` (0: a, 1: b), are faster with a row-major copy of it, the
  /// copy included.
  virtual bool wants_rows(const Matmul& description, int index, std::int64_t products) const = 0;
};

/// Optional: a device that knows what halves cost it beside f32 (rounded to TF32 inside): small products and some convolutions are slower in halves.
class PricesHalves {
 public:
  virtual ~PricesHalves() = default;
  struct Seconds {
    double in_f32 = 0, in_halves = 0;
  };
  /// A product whose operands and result lie as those of the description do, which is of f32. Casts are not counted.
  virtual Seconds price_product(const Matmul& description) const = 0;
  /// Another sum of products, a convolution, by its operations and by how many elements it reads and gives.
  virtual Seconds price_convolution(double operations, double elements) const = 0;
  /// Whether a convolution of such halves is one of f32 and the conversion of all it reads and gives: they pay in products of matrices alone.
  virtual bool converts_convolutions(DType /*half*/) const { return false; }
};

/// When calls take slices of larger tensors (graph/slices.h) as fast as tensors of their own.
struct SliceRules {
  std::size_t alignment = 64;  // bytes, of where rows begin
  // Bytes: rows that are apart by a multiple of it share few places of the cache (64 rows of 256 at a distance of 64 KiB: a product takes 1.3
  // times as long). 0: none.
  std::size_t worst_distance = 4096;
  bool reads_pixels_apart = false;  // convolutions, channels-last images with room between the pixels; where not, they copy them
};

/// What a device is as well that has other rules than those.
class HasSliceRules {
 public:
  virtual ~HasSliceRules() = default;
  virtual SliceRules slice_rules() const = 0;
};
inline SliceRules slice_rules(const Device& device) {
  const auto* const own = dynamic_cast<const HasSliceRules*>(&device);
  return own ? own->slice_rules() : SliceRules{};
}

}  // namespace tegula::runtime
