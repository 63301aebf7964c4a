#pragma once
// Calls as data: computations that a library does better than a tile program. An op describes its call, a device offers ways to compute it and makes it.

#include <cstddef>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/core/line.h"
#include "tegula/core/shape.h"
#include "tegula/runtime/attention.h"
#include "tegula/runtime/cuda_kernel.h"
#include "tegula/runtime/expression.h"
#include "tegula/runtime/matrix_routine.h"
#include "tegula/runtime/operand.h"

namespace tegula::runtime {

/// The rounding allowed inside a product of f32 operands: none, or the operands to 10 bits of mantissa (tensor cores). Other dtypes
/// ignore it.
enum class Arithmetic : std::uint8_t { Full, TF32 };

/// C = epilogue(A · B), f32/f64/f16/bf16 in and out, sums in f32 (f64 for f64). All of one dtype; or A and B quantised codes with factors, C any of the
/// other dtypes but f64, without an epilogue, of two axes, K, N and the strides of A and B multiples of 16, B transposed.
/// Layouts have the same rank >= 2: (batch…, M, K), (batch…, K, N), (batch…, M, N). Batch strides of a and b may be 0 (broadcast).
/// In each of a, b and c one of the last two strides is 1 (or its size is 1) and the other is at least the size it spans.
/// If the device prefers it, B lies in blocks of its last two axes, without batch axes.
/// buffers: (a, b[, factor of a, factor of b][, operands of the epilogue…], c).
struct Matmul {
  Operand a, b, c;
  Arithmetic arithmetic = Arithmetic::Full;
  Expression epilogue = {};  // vectors by channel are dense (N)
  bool operator==(const Matmul&) const = default;
  /// Operands and result of one dtype.
  static Matmul of(DType dtype, const Layout& a, const Layout& b, const Layout& c) {
    return {.a = {dtype, a}, .b = {dtype, b}, .c = {dtype, c}};
  }
  /// The same product with operands and result of another dtype.
  Matmul in(DType dtype) const {
    Matmul out = *this;
    out.a.dtype = out.b.dtype = out.c.dtype = dtype;
    return out;
  }
  DType dtype() const { return c.dtype; }
  bool multiplies_codes() const { return a.scale == Scale::Factor; }
};

enum class ConvolutionPass : std::uint8_t { Forward, BackwardData, BackwardWeight };

/// Cross-correlation over 1 to 3 spatial axes. input (N, C, spatial…), weight (K, C/groups, kernel…), output (N, K, spatial…):
/// the shapes are always in this order, the strides say how each lies in memory (any dense permutation; the weight is row-major
/// or, where the device wants that, channels-last or in blocks). Size: (input + low + high - dilation*(kernel-1) - 1) / stride + 1.
/// buffers: Forward (input, weight[, operands of the epilogue…], output); BackwardData (output gradient, weight, input gradient); BackwardWeight (input,
/// output gradient, weight gradient[, bias gradient]).
/// Operands of one dtype.
struct Convolution {
  ConvolutionPass pass = ConvolutionPass::Forward;
  Operand input, weight, output;
  Dims stride, dilation, pad_low, pad_high;
  std::int64_t groups = 1;
  bool bias_gradient = false;  // BackwardWeight: a second output (K)
  Expression epilogue = {};  // Forward: of the output's elements; vectors by channel are dense (K)
  bool keeps_nan = true;  // false where no gradient follows: the epilogue may then give a number for a NaN, as a library's own do
  Arithmetic arithmetic = Arithmetic::Full;
  bool operator==(const Convolution&) const = default;

  DType dtype() const { return output.dtype; }
  /// The same convolution with operands of another dtype.
  Convolution in(DType dtype) const {
    Convolution out = *this;
    out.input.dtype = out.weight.dtype = out.output.dtype = dtype;
    return out;
  }
};

enum class PoolingKind : std::uint8_t {
  Max,
  AverageWithPadding /* divides by the window */,
  AverageWithoutPadding /* by the elements inside */
};

/// Pooling over the spatial axes of (N, C, spatial…); layouts as for Convolution. Padding counts as -inf for Max, 0 for averages.
/// Forward: (input) -> output, of Max also -> taps where it has them. Backward: Max (taps, output gradient) -> input gradient, without taps
/// (input, output gradient) -> input gradient; averages (output gradient) -> input gradient.
struct Pooling {
  PoolingKind kind = PoolingKind::Max;
  bool backward = false;
  Operand input, output;  // of the same dtype
  Dims window, stride, dilation, pad_low, pad_high;
  bool wants_values = true, wants_taps = false;  // Max, forward: an unwanted buffer may be null
  Operand taps = {DType::u8};  // a layout where they lie otherwise than the output
  bool operator==(const Pooling&) const = default;

  DType dtype() const { return output.dtype; }
  /// The same pooling of values of another dtype.
  Pooling in(DType dtype) const {
    Pooling out = *this;
    out.input.dtype = out.output.dtype = dtype;
    return out;
  }

  /// A tap names the first maximum of a window (a NaN counts as maximum) by its row-major position in the window: a byte;
  /// kNoTap where all of the window is padding. Larger windows have none, and the backward pass searches the input again.
  bool has_taps() const { return kind == PoolingKind::Max && numel(window) <= kNoTap; }
  const Layout& taps_layout() const { return taps.layout.shape.rank() == 0 ? output.layout : taps.layout; }
  static constexpr int kNoTap = 255;
};

/// sums[o, r, :] = Σ of source[o, k, :] over all k with index[k] == r, added in the order of k: halves in f32, rounded once; integers wrap
/// around. Rows that nobody names are zero, an index outside of [0, length) is left out. buffers: (index, source, sums); index i64 (count), source (outer, count, width),
/// sums (outer, length, width), all dense. The same bits at every run.
struct ScatterSum {
  DType dtype = DType::f32;  // any but boolean
  std::int64_t outer = 1, count = 0, length = 0, width = 1;
  bool operator==(const ScatterSum&) const = default;
};

/// sums[o, r, :] = Σ of weight[k] * source[o, lines[k], :] over k in [starts[r], starts[r + 1]), added in the order of k: halves in f32, rounded once; integers
/// wrap around. A line outside of [0, rows) is left out. buffers: (starts, lines, source[, weights], sums); starts i64 (length + 1), lines i64 (count), source
/// (outer, rows, width), weights (count) of the source's dtype, sums (outer, length, width), all dense. The same bits at every run.
///
/// With `terms` line l of the source is not in memory: it is an expression of lines of several matrices, in f32 or f64. Value 0 is an element of the first
/// one's line, each Tensor value one of the next one's. Weights are 1, outer is 1. buffers: (starts, lines, what the values read in their order, sums); a
/// matrix (rows, width) that is named comes behind its index, i64 (rows of the source). Numbers of the index are counted from the end where they are
/// negative; others outside of the matrix are reported (Failure::id: the number of the matrix).
struct GroupedSum {
  struct Lines {
    std::int64_t rows = 0;
    bool named = false;  // line index[l] of the matrix stands for line l of the source, else line l
    bool operator==(const Lines&) const = default;
  };
  DType dtype = DType::f32;  // any but boolean
  std::int64_t outer = 1, count = 0, rows = 0, length = 0, width = 1;
  bool weighted = false;  // else the weights are 1, and have no buffer
  Expression terms = {};
  std::vector<Lines> reads = {};  // the matrices of the terms
  bool operator==(const GroupedSum&) const = default;
};

enum class Spectrum : std::uint8_t {
  Complex,  // complex numbers to complex numbers
  FromReal,  // real numbers to the half of their spectrum that says all: size / 2 + 1 numbers along the last axis
  ToReal,  // such a half to real numbers
};

/// Discrete Fourier transforms of f32 or f64 along the last axes, which have these sizes (those of the real numbers); `batch` of them. A complex number is a
/// pair in one more axis of 2. Not divided by anything: Σ of x[j] exp(∓2πi jk / n), with + if `inverse` (which ToReal always is, FromReal never).
/// buffers: (x, y), dense.
struct Fourier {
  Spectrum spectrum = Spectrum::Complex;
  DType dtype = DType::f32;
  bool inverse = false;
  std::int64_t batch = 1;
  Dims sizes = {};  // one to three
  bool operator==(const Fourier&) const = default;
};

/// A weight put into the blocks that a call has asked for. buffers: (weight, the same in blocks).
struct Packing {
  DType dtype = DType::f32;
  Layout weight = {};  // over the axes of the blocks
  Blocked blocks = {};
  bool operator==(const Packing&) const = default;
};

/// The host's turn in the queue of a device that queues its work: bytes come to it, and bytes go back.
struct HostTurn {
  using Work = std::function<void(const void* input, void* output)>;
  std::size_t input_bytes = 0, output_bytes = 0;
  /// With several inputs and outputs: the bytes of each buffer, in order. Work sees inputs one behind the other, each at a multiple of 64 bytes (place()), and
  /// outputs likewise; the bytes above are then those of all. A buffer may be null.
  std::vector<std::size_t> inputs = {}, outputs = {};
  std::string text = {};  // Call::describe()
  /// Called each time the turn is queued, on the thread that queues it, with the step's line; returns the work. The work runs on a thread of the device, while nothing else
  /// of the queue runs, and must not use the device. The next synchronize() rethrows its exception.
  std::function<Work(const Line&)> queued = {};
  bool operator==(const HostTurn&) const { return false; }  // functions do not compare

  /// The beginning of part `index`; for the index behind the last one: the bytes of all parts.
  static std::size_t place(const std::vector<std::size_t>& parts, std::size_t index) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < index; ++i) at += (parts[i] + 63) / 64 * 64;
    return at;
  }
};

/// monostate: no call of a device.
struct CallDescription : std::variant<std::monostate, Matmul, Convolution, Pooling, Attention, ScatterSum, Packing, HostTurn, CudaKernel,
                                      MatrixRoutine, Fourier, GroupedSum> {
  using variant::variant;
  explicit operator bool() const { return !std::holds_alternative<std::monostate>(*this); }
};

}  // namespace tegula::runtime
