#pragma once
// The nodes of attention: forward and backward, each a call of the device or a composition of plain ops.

#include <span>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula::ops {

/// The attributes that tell two attentions over equal inputs apart.
struct AttentionForm {
  bool causal = false;
  std::int64_t window = 0;  // 0: none
  double scale = 1, dropout = 0;
  // Which inputs follow q (B, H, M, D), k (B, G, N, D) and v (B, G, N, E).
  bool mask = false;     // boolean, broadcasts to (B, H, M, N)
  bool bias = false;     // of q's dtype, the same shape
  bool lengths = false;  // (B) i64
  bool start = false;    // (B) i64
  bool sum_gradient = false;  // backward alone
  int extras() const { return mask + bias + lengths + start + (dropout > 0 ? 2 : 0); }
};

/// o (B, M, H, E) and the logarithm of the softmax's sum (B, H, M); seed and position are (): rank 0, i64.
std::vector<Tensor> attention_nodes(const AttentionForm& form, std::span<const Tensor> inputs, const Line& where);

/// The softmax of scores along their last axis, which are -inf where a key is not seen, and the logarithm of its sum (…, 1). Nothing seen: zeros, -inf.
struct SeenSoftmax {
  Tensor p, log_sum;
};
SeenSoftmax softmax_of_seen(const Tensor& scores);

/// The same in plain ops.
std::vector<Tensor> plain_attention(const AttentionForm& form, std::span<const Tensor> inputs);
/// Puts zeros where no query sees a row of keys or values, inputs 1 and 2: 0 times their content may be NaN. Of forms that say more than the positions of rows.
void hide_unseen(const AttentionForm& form, std::vector<Tensor>& inputs);
/// The weights (B, H, M, N), before dropout.
Tensor plain_attention_weights(const AttentionForm& form, std::span<const Tensor> inputs);
/// Inputs as those of the forward pass, then o, sum, the gradient of o[, and of sum]: the gradients of q (B, M, H, D), k (B, N, G, D), v (B, N, G, E)
/// and of the scores (B, H, M, N) (equations of FlashAttention, appendix B.2).
std::vector<Tensor> plain_attention_gradients(const AttentionForm& form, std::span<const Tensor> inputs);

}  // namespace tegula::ops
