#pragma once
// Attention as an operation graph of cuDNN: its flash attention is what runs products around a softmax, described op by op.

#include "tegula/cuda/dnn/dnn_plan.h"
#include "tegula/runtime/attention.h"

namespace tegula::gpu {

/// The tensors of a plan by these numbers.
enum class AttentionTensor : std::int64_t {
  Q = 1,
  K,
  V,
  O,
  Sums,          // (B, H, M, 1) f32
  Queries,       // (B, 1, 1, 1) i32: how many there are of each sample
  Keys,          // (B, 1, 1, 1) i32
  OGradient,
  QGradient,
  KGradient,
  VGradient,
  Means,         // (B, H, M, 1) f32, scratch: Σ o * its gradient
  QGradientSum,  // (B, H, M, D) f32, scratch
  // One number each, by value.
  Scale,
  Nothing,       // -inf
  One,
  Left,          // the window, f32
  Right,         // keys that are seen after a query's own, i32
};

/// True if cuDNN's attention accepts the description at all: halves, heads of up to 256 in eights, no mask, bias or dropout.
bool describes_flash_attention(const runtime::Attention& description);

/// Throws Error when cuDNN refuses the description.
DnnGraph attention_graph(const Dnn& dnn, const runtime::Attention& description);

}  // namespace tegula::gpu
