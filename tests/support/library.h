#pragma once
// The library calls of any device against naive loops in f64: random tensors in every dtype and layout, random descriptions, and their
// invariants. The bodies take the device; each machine's tests choose the arguments.

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tegula/core/buffer.h"
#include "tegula/core/dtype.h"
#include "tegula/core/shape.h"
#include "tegula/runtime/device.h"

namespace tegula::test {

/// Numbers that are the same in every run of one program, in one order of tests: TEGULA_SEED asks for others (7).
std::mt19937& generator();
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
  /// All memory: the elements, the gaps between them and the guards.
  void* storage() const { return buffer_->data(); }
  std::size_t storage_bytes() const { return static_cast<std::size_t>(extent_ + 2 * kGuard) * size_of(dtype_); }
  void* data() const { return static_cast<char*>(buffer_->data()) + kGuard * static_cast<std::int64_t>(size_of(dtype_)); }
  const Layout& layout() const { return layout_; }
  DType dtype() const { return dtype_; }
  double operator()(const Dims& index) const { return load(at(index)); }
  void set(const Dims& index, double value) { store(at(index), value); }

  /// True if everything but the elements still holds the canary.
  bool untouched_outside() const {
    std::vector<bool> inside(static_cast<std::size_t>(extent_), false);
    for_each([&](const Dims& index) { inside[static_cast<std::size_t>(at(index))] = true; });
    const double canary = visit(dtype_, [](auto zero) { return as_double(from_double<decltype(zero)>(kCanary)); });
    for (std::int64_t i = -kGuard; i < extent_ + kGuard; ++i) {
      if ((i < 0 || i >= extent_ || !inside[static_cast<std::size_t>(i)]) && load(i) != canary) return false;
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
  static constexpr double kCanary = 1232;  // exact in every float dtype
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

/// Runs on `device` with scratch of exactly the promised size plus a guard. False when the call wrote behind its scratch. On a GPU the tensors
/// are copied there and back, with their surroundings.
bool run_guarded(runtime::Device& device, const runtime::Call& call, const std::vector<Tensor*>& tensors, int threads);

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

/// For a library call whose f32 operands may be rounded.
inline double tolerance(DType dtype, runtime::Arithmetic arithmetic, double terms) {
  return tolerance(dtype == f32 && arithmetic == runtime::Arithmetic::TF32 ? f16 : dtype, terms);
}

/// The tensor, with this layout over the axes of the blocks, in blocks as the device packs it; unchanged where there are none.
Tensor in_blocks(runtime::Device& device, const Tensor& weight, const Layout& over_axes, const runtime::Blocked& blocks, int threads);

// Epilogues
/// A bias, and what is made of the sum.
inline runtime::Expression with_bias(bool bias, const runtime::Expression& rest = {}) {
  return runtime::expression_of({.channel = bias, .rest = rest});
}
/// Nothing, and the activations that libraries have.
std::vector<runtime::Expression> activations_of(DType dtype);
/// Numbers of an expression with limits: the k-th.
inline double limit(std::size_t k) { return k % 2 == 0 ? -0.25 : 0.5; }
/// The expression's value in f64, of what it reads in order.
double evaluate(const runtime::Expression& expression, double result, std::span<const double> reads = {});

// Matmul
enum class MatrixOrder { Rows, Columns };
/// A matrix with batch axes; `gap` elements lie unused behind each row (or column), `broadcast` gives batch strides of 0.
Layout matrix(const Shape& shape, MatrixOrder order, std::int64_t gap = 0, bool broadcast = false);
runtime::Matmul random_matmul(DType dtype, int largest);
void expect_matmul(runtime::Device& device, const runtime::Matmul& description, int threads);

// Convolution
enum class Memory { ChannelsFirst, ChannelsLast, Reversed };
/// A tensor whose axes lie in memory in the given order: dense, or (channels first or last) a part of one that has `room` further channels.
Layout activations(const Shape& shape, Memory order, std::int64_t room = 0);
struct ConvolutionOptions {
  std::int64_t n = 1, c = 1, k = 1, groups = 1;
  Dims in, kernel, stride, dilation, low, high;
  DType dtype = f32;
  Memory input = Memory::ChannelsFirst, output = Memory::ChannelsFirst, weight = Memory::ChannelsFirst;
  std::int64_t input_room = 0, output_room = 0;  // further channels of the tensors they are parts of
  bool bias = false, addend = false;  // the addend, and what follows: of the forward pass
  bool relu = false;
  std::vector<tile::Word> limits;  // Max, Min: with limit(k)
  runtime::Arithmetic arithmetic = runtime::Arithmetic::Full;
};
/// A square image and kernel with a bias.
ConvolutionOptions square(std::int64_t n, std::int64_t c, std::int64_t hw, std::int64_t k, std::int64_t f, std::int64_t s, std::int64_t low,
                          std::int64_t high);
runtime::Convolution describe(const ConvolutionOptions& options, runtime::ConvolutionPass pass);
/// Few enough products for the naive loops.
ConvolutionOptions random_convolution(DType dtype);
/// Every one of `calls` must follow the description.
void expect_convolution(runtime::Device& device, const runtime::Convolution& description,
                        const std::vector<std::unique_ptr<runtime::Call>>& calls, int threads);
constexpr runtime::ConvolutionPass kPasses[] = {runtime::ConvolutionPass::Forward, runtime::ConvolutionPass::BackwardData,
                                                runtime::ConvolutionPass::BackwardWeight};

// Pooling
runtime::Pooling random_pooling(DType dtype);
/// With a share of NaN the other values are small integers: many ties.
void expect_pooling(runtime::Device& device, const runtime::Pooling& description, int threads, double nan_share = 0);

// Sums by index
enum class Named { Anything /* some of it outside */, OneRow, FewRows, EachOnce };
std::vector<std::int64_t> random_rows(Named named, std::int64_t count, std::int64_t length);
/// `call` on random values must give the sums, and the same bits again.
void expect_scatter_sum(runtime::Device& device, const runtime::Call& call, const runtime::ScatterSum& description,
                        const std::vector<std::int64_t>& rows, int threads);

}  // namespace tegula::test
