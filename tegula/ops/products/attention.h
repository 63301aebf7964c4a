#pragma once
// Attention: each query gives a mean of the values, weighted by how well it fits their keys.

#include <optional>
#include <utility>

#include "tegula/graph/tensor.h"
#include "tegula/ops/random.h"

namespace tegula {

struct AttentionOptions {
  bool causal = false;  // query i sees keys up to its own position, which is i (PyTorch's is_causal), or start + i
  Tensor mask = {};     // boolean, broadcasts to (…, H, M, N): false hides a key from a query
  Tensor bias = {};     // of q's dtype, broadcasts to (…, H, M, N): added to the scores
  double dropout = 0;   // probability with which a weight becomes 0; the others are divided by 1 - dropout
  std::optional<double> scale = {};  // factor of the scores; 1 / sqrt(D)
  std::int64_t window = 0;  // a query sees only keys less than so many positions away (Beltagy et al., "Longformer", 2020); 0: any
  Tensor lengths =
      {};  // (…) integers, one for each sample: how many of its keys there are; the others are hidden. Error when run and outside [0, N]
  Tensor start = {};    // () or (…) integers: the position of the first query among the keys, as with a cache of keys; 0
  Generator* generator = nullptr;  // for dropout; null: the default one
};

/// softmax(q kᵀ * scale + bias) v (Vaswani et al., "Attention is all you need", 2017).
/// q (…, H, M, D), k (…, G, N, D), v (…, G, N, E) -> (…, H, M, E), of one float dtype (promoted). H is a multiple of G: query head h uses head
/// h / (H / G) of keys and values (Ainslie et al., "GQA", 2023). Rank 3 is (H, M, D), rank 2 (M, D). A query that sees no key gives zeros.
/// Computed in blocks, in f32 for halves, without a matrix of scores, forward and backward (Dao et al., "FlashAttention", 2022), where the device
/// has a call for it (cpu() has); elsewhere as plain ops. Gradients of a bias hold (…, H, M, N), as do second derivatives.
/// Throws Error for shapes and dtypes that do not fit.
Tensor scaled_dot_product_attention(Arg q, Arg k, Arg v, const AttentionOptions& options = {});

struct Attended {
  Tensor output;  // (…, H, M, E)
  Tensor log_sum_exp;  // (…, H, M), f32 (f64 for f64): the logarithm of the sum over the seen keys of exp(score); -inf without any
};
/// The same with the logarithm of the sum, which joins attentions over parts of the keys. Both may be differentiated.
Attended attention_with_log_sum_exp(Arg q, Arg k, Arg v, const AttentionOptions& options = {});

/// The weights themselves, (…, H, M, N), without dropout: for pictures of the attention. Not computed in blocks.
Tensor attention_weights(Arg q, Arg k, const AttentionOptions& options = {});

struct MaskedSoftmaxOptions {
  Tensor mask = {};  // boolean, broadcasts to the scores: false hides a key from a query
  Tensor lengths = {};  // (…), the axes before M: integers, how many of the keys there are. Error when run and outside [0, N]
};
/// The softmax of scores (…, M, N) over the keys that a query sees: the weights of an attention whose scores are made in another way. A query that
/// sees no key gets zeros. Throws Error for a mask or lengths that do not fit.
Tensor masked_softmax(Arg scores, const MaskedSoftmaxOptions& options = {});

struct OpCase;
/// For the tests (case.h).
std::vector<OpCase> attention_cases();

}  // namespace tegula
