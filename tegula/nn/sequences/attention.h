#pragma once
// Attention layers: multi-head (PyTorch's names), additive and general.

#include <optional>

#include "tegula/nn/linear.h"
#include "tegula/nn/module.h"
#include "tegula/nn/sequences/cache.h"

namespace tegula::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;  // on the weights, while training
  bool bias = true;
  bool add_bias_kv = false;    // one learned key and value more
  bool add_zero_attn = false;  // one key and value of zeros more
  std::int64_t kdim = 0, vdim = 0;  // features of keys and values; 0: embed_dim
  bool batch_first = false;  // (N, T, E) instead of (T, N, E)
  DType dtype = f32;
};

struct MultiheadAttentionInput {
  Tensor key_padding_mask =
      {};  // (N, S), or (S) without a batch; boolean: true hides a key, as in PyTorch. Or floats, which are added to the scores
  Tensor attn_mask = {};  // (L, S) or (N * heads, L, S); boolean: true hides, as in PyTorch. Or floats, which are added
  bool is_causal = false;  // query i sees keys up to its own position
  bool need_weights = false;  // they hold (N, heads, L, S)
  bool average_attn_weights = true;  // over the heads
  KeyValueCache* cache =
      nullptr;  // keys and values continue what layer `layer` of it holds; causal. Takes no key_padding_mask or attn_mask
  int layer = 0;
};

/// The output (as the query lies), and the weights (N, L, S), or (N, heads, L, S), where they were asked for.
struct MultiheadAttended {
  Tensor output, weights;
};

/// Queries (L, N, E), keys (S, N, kdim) and values (S, N, vdim), or without N: several attentions side by side, each over its own projections of
/// the features (Vaswani et al., 2017). Begins as PyTorch's does.
class MultiheadAttention {
 public:
  MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads, const MultiheadAttentionOptions& options = {},
                     Line where = Line::current());
  MultiheadAttended operator()(Arg query, Arg key, Arg value, const MultiheadAttentionInput& input = {}) const;
  void visit(Visitor& visitor, const Path& path);

  Variable in_proj_weight;  // (3 E, E): of queries, keys and values; empty with kdim or vdim
  Variable q_proj_weight, k_proj_weight, v_proj_weight;  // (E, E), (E, kdim), (E, vdim), or empty
  Variable in_proj_bias;  // (3 E), or empty
  Variable bias_k, bias_v;  // (1, 1, E), or empty
  Linear out_proj;  // E -> E
  dist::Split split;  // split of the heads among ranks, out_proj's rows with them (nn/tensor_parallel.h)
  Flag training{1};

 private:
  std::int64_t width_, heads_;
  MultiheadAttentionOptions options_;
};

/// The result of an attention over a sequence of annotations: their weighted mean (N, M, V) and the weights (N, M, S).
struct AttendedSequence {
  Tensor context, weights;
};

/// The annotations that a query sees; all, when nothing is given.
struct Attendable {
  Tensor lengths = {};  // (N) integers: how many of the S there are. Error when run and outside [0, S]
  Tensor mask = {};  // boolean, broadcasts to (N, M, S): false hides an annotation from a query
};

struct AdditiveAttentionOptions {
  bool bias = false;
  DType dtype = f32;
};
/// score = v · tanh(query_layer(q) + key_layer(k)) (Bahdanau et al., 2015). Queries (N, M, Q), keys (N, S, K) and values (N, S, V), the keys
/// themselves when there are none. A query that sees nothing gets zeros.
class AdditiveAttention {
 public:
  AdditiveAttention(std::int64_t query_size, std::int64_t key_size, std::int64_t hidden_size, const AdditiveAttentionOptions& options = {},
                    Line where = Line::current());
  AttendedSequence operator()(Arg queries, Arg keys, const Tensor& values = {}, const Attendable& seen = {}) const;
  /// The keys' part alone, (N, S, hidden): a decoder that asks step by step computes it once and hands it to with_projected.
  Tensor project(Arg keys) const { return key_layer(keys); }
  AttendedSequence with_projected(Arg queries, Arg projected, Arg values, const Attendable& seen = {}) const;
  void visit(Visitor& visitor, const Path& path);

  Linear query_layer, key_layer;  // to hidden_size features
  Linear energy_layer;  // v: hidden_size -> 1
};

/// score = q · W k, "general" (Luong et al., 2015). Sizes as above.
class GeneralAttention {
 public:
  GeneralAttention(std::int64_t query_size, std::int64_t key_size, DType dtype = f32, Line where = Line::current());
  AttendedSequence operator()(Arg queries, Arg keys, const Tensor& values = {}, const Attendable& seen = {}) const;
  /// The projected keys, as AdditiveAttention's: (N, S, query_size).
  Tensor project(Arg keys) const { return key_layer(keys); }
  AttendedSequence with_projected(Arg queries, Arg projected, Arg values, const Attendable& seen = {}) const;
  void visit(Visitor& visitor, const Path& path);

  Linear key_layer;  // W: key_size -> query_size, without a bias
};

/// score = q · k, "dot" (Luong et al., 2015), times `scale`: 1 / sqrt(features) is the transformer's. Queries and keys of as many features.
AttendedSequence dot_attention(Arg queries, Arg keys, Arg values, const Attendable& seen = {}, double scale = 1);

}  // namespace tegula::nn
