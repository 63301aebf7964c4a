#pragma once
// Llama: a decoder with RMS norms, rotary embeddings, grouped queries and gated feed-forward layers (Touvron et al., 2023). Parameters have Hugging
// Face's names ("model.layers.0.self_attn.q_proj.weight").

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/sequences/cache.h"
#include "tegula/nn/sequences/positions.h"
#include "tegula/nn/tensor_parallel.h"

namespace tegula::models {

struct LlamaOptions {
  std::int64_t vocabulary = 32000;
  std::int64_t width = 4096, layers = 32, heads = 32;
  std::int64_t kv_heads = 0;  // heads of keys and values; 0: as many as heads
  std::int64_t hidden = 11008;  // width of the feed-forward layers
  std::int64_t context = 2048;  // the most tokens that a cache is made for
  double norm_eps = 1e-5;
  nn::RotaryOptions rotary = {};
  bool tied = false;  // the embedding's weight gives the scores, too
  DType dtype = f32;
};

namespace llama {

struct Attention {
  explicit Attention(const LlamaOptions& options);
  Tensor operator()(Tensor x, Tensor places, nn::KeyValueCache* cache, int layer) const;
  void visit(nn::Visitor& visitor, const nn::Path& path);
  nn::Linear q_proj, k_proj, v_proj, o_proj;
  dist::Split split;  // split of the heads among ranks, o_proj's rows with them (nn/tensor_parallel.h)

 private:
  std::int64_t heads_, groups_, width_;
  nn::Rotary rotary_;
};

struct FeedForward {
  explicit FeedForward(const LlamaOptions& options);
  Tensor operator()(Tensor x) const;
  void visit(nn::Visitor& visitor, const nn::Path& path);
  nn::Linear gate_proj, up_proj, down_proj;
  dist::Split split;  // split of the hidden features among ranks, down_proj's rows with them (nn/tensor_parallel.h)
};

struct Block {
  explicit Block(const LlamaOptions& options);
  Tensor operator()(Tensor x, Tensor places, nn::KeyValueCache* cache, int layer) const;
  Attention self_attn;
  FeedForward mlp;
  nn::RMSNorm input_layernorm, post_attention_layernorm;
  static constexpr auto fields = nn::fields<&Block::self_attn, &Block::mlp, &Block::input_layernorm, &Block::post_attention_layernorm>;
};

struct Body {
  explicit Body(const LlamaOptions& options);
  nn::Embedding embed_tokens;
  std::vector<Block> layers;
  nn::RMSNorm norm;
  static constexpr auto fields = nn::fields<&Body::embed_tokens, &Body::layers, &Body::norm>;
};

}  // namespace llama

/// tokens (B, T), integers -> scores (B, T, vocabulary). With a cache the tokens continue its content.
class Llama {
 public:
  explicit Llama(const LlamaOptions& options = {});
  Tensor operator()(Arg tokens, nn::KeyValueCache* cache = nullptr) const { return head(hidden(tokens, cache)); }
  /// (B, T, width): the features for the scores.
  Tensor hidden(Arg tokens, nn::KeyValueCache* cache = nullptr) const;
  /// (…, width) -> (…, vocabulary).
  Tensor head(Arg x) const;
  /// A cache for `batch` sequences; a capacity of 0 is the context.
  nn::KeyValueCache cache(std::int64_t batch = 1, std::int64_t capacity = 0) const;
  const LlamaOptions& options() const { return options_; }

  llama::Body model;
  std::optional<nn::Linear> lm_head;  // empty: tied
  static constexpr auto fields = nn::fields<&Llama::model, &Llama::lm_head>;

 private:
  LlamaOptions options_;
};

/// For dist::tensor_parallel(net, …): heads, hidden features and the vocabulary are shared out, so that net(tokens) gives this rank's scores, which
/// dist::cross_entropy takes. Heads of keys and values must be as many as the ranks, or a multiple.
dist::TensorPlan llama_plan(dist::Steps steps = dist::Steps::Whole);

/// A checkpoint of llama2.c ("legacy" format: seven i32 sizes, then f32 weights, pairs of rotary features side by side). Throws Error for a file
/// that is none or of another size than its header says.
Llama load_llama2c(const std::string& path);
/// The same of the file's bytes; `name` is for errors.
Llama parse_llama2c(std::span<const std::byte> bytes, const std::string& name);

}  // namespace tegula::models
