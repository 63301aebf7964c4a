#pragma once
// Random tensors in every dtype and layout for the tests of the library calls, and how they are read back.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tegula/core/buffer.h"
#include "tegula/core/dtype.h"
#include "tegula/core/error.h"
#include "tegula/core/shape.h"
#include "tegula/runtime/device.h"

namespace tegula::cpu::test {

inline std::mt19937& generator() {
  static std::mt19937 engine(7);
  return engine;
}
inline int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator()); }

/// A buffer of stored elements with a guard of canaries on both sides: stray writes are seen.
class Tensor {
 public:
  Tensor(DType dtype, const Layout& layout) : dtype_(dtype), layout_(layout) {
    for (int i = 0; i < layout.shape.rank(); ++i) extent_ += (layout.shape[i] - 1) * layout.strides[i];
    if (numel(layout.shape) == 0) extent_ = 0;
    buffer_ = allocate_host(static_cast<std::size_t>(extent_ + 2 * kGuard) * size_of(dtype));
    for (std::int64_t i = -kGuard; i < extent_ + kGuard; ++i) store(i, kCanary);
  }
  void randomize() {
    std::uniform_real_distribution<double> real(-1, 1);
    for_each([&](const Dims& index) { store(at(index), real(generator())); });
  }
  void* data() const { return static_cast<char*>(buffer_->data()) + kGuard * static_cast<std::int64_t>(size_of(dtype_)); }
  const Layout& layout() const { return layout_; }
  DType dtype() const { return dtype_; }
  double operator()(const Dims& index) const { return load(at(index)); }
  void set(const Dims& index, double value) { store(at(index), value); }

  /// Whether everything that is not an element still holds the canary.
  bool untouched_outside() const {
    std::vector<bool> inside(static_cast<std::size_t>(extent_), false);
    for_each([&](const Dims& index) { inside[static_cast<std::size_t>(at(index))] = true; });
    for (std::int64_t i = -kGuard; i < extent_ + kGuard; ++i) {
      if ((i < 0 || i >= extent_ || !inside[static_cast<std::size_t>(i)]) && load(i) != kCanary) return false;
    }
    return true;
  }

  template <class F>
  void for_each(F&& f) const {
    const std::int64_t count = numel(layout_.shape);
    Dims index = Dims::filled(layout_.shape.rank(), 0);
    for (std::int64_t i = 0; i < count; ++i) {
      f(index);
      for (int axis = index.rank() - 1; axis >= 0 && ++index[axis] == layout_.shape[axis]; --axis) index[axis] = 0;
    }
  }

 private:
  static constexpr std::int64_t kGuard = 64;
  static constexpr double kCanary = 1232;  // exact in every dtype
  std::int64_t at(const Dims& index) const {
    std::int64_t offset = 0;
    for (int i = 0; i < index.rank(); ++i) offset += index[i] * layout_.strides[i];
    return offset;
  }
  double load(std::int64_t i) const {
    return visit(dtype_, [&](auto zero) { return as_double(static_cast<const decltype(zero)*>(data())[i]); });
  }
  void store(std::int64_t i, double value) {
    visit(dtype_, [&](auto zero) { static_cast<decltype(zero)*>(data())[i] = from_double<decltype(zero)>(value); });
  }

  DType dtype_;
  Layout layout_;
  std::int64_t extent_ = 1;
  Ref<Buffer> buffer_;
};

/// Runs with scratch of exactly the promised size plus a guard that must stay as it was.
inline bool run_guarded(const runtime::Call& call, std::vector<void*> buffers, int threads) {
  const std::size_t bytes = call.scratch_bytes();
  const auto scratch = allocate_host(bytes + 256);
  std::memset(scratch->data(), 0x5a, bytes + 256);
  call.run(buffers, scratch->data(), threads);
  const auto* guard = static_cast<const unsigned char*>(scratch->data()) + bytes;
  for (int i = 0; i < 256; ++i)
    if (guard[i] != 0x5a) return false;
  return true;
}

/// Rounding of one operation on values of size `scale` with `terms` products.
inline double tolerance(DType dtype, double terms, double scale = 1) {
  const double sum = std::sqrt(terms) + 1;
  switch (dtype) {
    case DType::f64: return 1e-14 * sum * scale;
    case DType::f32: return (3e-6 * sum + 1e-7 * terms) * scale;  // long sums go in sequence
    case DType::f16: return 2e-3 * sum * scale;
    default: return 1.6e-2 * sum * scale;
  }
}

}  // namespace tegula::cpu::test
