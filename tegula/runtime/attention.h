#pragma once
// Attention as a call of a device, which holds no matrix of scores.

#include <array>
#include <cstdint>
#include <optional>

#include "tegula/runtime/operand.h"

namespace tegula::runtime {

/// O = dropped(softmax(scale * Q Kᵀ + bias)) V over the keys that each query sees, and the logarithm of the softmax's sum (Dao et al.,
/// "FlashAttention", 2022). Query i of sample b stands at position start[b] + i among the keys and sees key j where
///   j < lengths[b],  causal: j <= position,  window > 0: |j - position| < window,  mask[b, h, i, j].
/// A query that sees no key gives zeros and -inf. Query head h reads head h / (H / G) of the keys and values.
/// buffers: q, k, v[, mask][, bias][, lengths][, start][, seed, position], then
///   forward: o (B, M, H, E), sum (B, H, M), which is f32 (f64 for f64);
///   backward: o, sum, gradient of o[, of sum], then those of q (B, M, H, D), k (B, N, G, D), v (B, N, G, E) and the scores (B, H, M, N).
/// Results are dense where the description says nothing else; results that nobody wants are null.
/// Layouts have any strides, but the last axis of q, k, v, o and its gradient is dense. Offsets in them are ignored.
struct Attention {
  bool backward = false;
  Operand q, k, v;  // (B, H, M, D), (B, G, N, D), (B, G, N, E), of one dtype, which is that of the results
  Operand o, o_gradient;  // backward, as inputs: (B, M, H, E)
  // Backward: where the results lie that are not dense (rank 0 where they are): (B, M, H, D), (B, N, G, D), (B, N, G, E), the last axis dense.
  std::array<Operand, 3> gradients = {};
  double scale = 1;
  bool causal = false;
  std::int64_t window = 0;
  std::optional<Operand> mask;  // boolean, (B, H, M, N), strides may be 0
  std::optional<Operand> bias;  // of the same dtype
  bool lengths = false;  // (B) i64
  bool start = false;  // (B) i64
  // Probability of a zero; the words of Philox are those at position + the dense index in (B, H, M, N), as dropout() would take them.
  double dropout = 0;
  bool sum_gradient = false;  // backward: of the logarithm, too
  bool operator==(const Attention&) const = default;

  DType dtype() const { return q.dtype; }
  /// The layout of the gradient of q (0), k (1) or v (2).
  Layout gradient(int index) const {
    const Layout& given = gradients[static_cast<std::size_t>(index)].layout;
    const Shape& of = (index == 0 ? q : index == 1 ? k : v).layout.shape;
    return given.shape.rank() > 0 ? given : Layout::dense({of[0], of[2], of[1], of[3]});
  }
};

}  // namespace tegula::runtime
