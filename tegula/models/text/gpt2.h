#pragma once
// GPT-2: a decoder with learned positions and layer norms before its parts (Radford et al., 2019). Parameters have the names of the published
// files ("h.0.attn.c_attn.weight"), whose matrices lie (in, out).

#include <optional>
#include <vector>

#include "tegula/nn/dropout.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/sequences/cache.h"
#include "tegula/nn/state.h"
#include "tegula/nn/tensor_parallel.h"

namespace tegula::models {

struct Gpt2Options {
  std::int64_t vocabulary = 50257;
  std::int64_t width = 768, layers = 12, heads = 12;  // 124 M parameters
  std::int64_t context = 1024;
  double dropout = 0;  // of embeddings, attention weights and each part's output; the published models were trained with 0.1
  double norm_eps = 1e-5;
  DType dtype = f32;
  /// The dtype of the residual sums, such as bf16 beside weights of f32: half the bytes of a training's largest tensors.
  std::optional<DType> residual = {};
  /// Compute the inside of a layer again in the backward pass instead of keeping it (tegula::checkpoint): less memory, a third more work.
  bool checkpoint_layers = false;
};

namespace gpt2 {

/// x (…, in) · weight (in, out) + bias.
struct Projection {
  Projection(std::int64_t in, std::int64_t out, double deviation, DType dtype);
  Tensor operator()(Tensor x) const;
  void visit(nn::Visitor& visitor, const nn::Path& path);
  Variable weight, bias;
  dist::Split split;  // split of its columns or rows among ranks (nn/tensor_parallel.h)
};

struct Attention {
  explicit Attention(const Gpt2Options& options);
  Tensor operator()(Tensor x, nn::KeyValueCache* cache, int layer) const;
  Projection c_attn, c_proj;
  nn::Dropout resid_dropout;
  static constexpr auto fields = nn::fields<&Attention::c_attn, &Attention::c_proj, &Attention::resid_dropout>;

 private:
  std::int64_t heads_;
  double dropout_;
};

struct FeedForward {
  explicit FeedForward(const Gpt2Options& options);
  Tensor operator()(Tensor x) const;  // gelu in its tanh form
  Projection c_fc, c_proj;
  nn::Dropout dropout;
  static constexpr auto fields = nn::fields<&FeedForward::c_fc, &FeedForward::c_proj, &FeedForward::dropout>;
};

struct Block {
  explicit Block(const Gpt2Options& options);
  Tensor operator()(Tensor x, nn::KeyValueCache* cache, int layer) const;
  nn::LayerNorm ln_1;
  Attention attn;
  nn::LayerNorm ln_2;
  FeedForward mlp;
  static constexpr auto fields = nn::fields<&Block::ln_1, &Block::attn, &Block::ln_2, &Block::mlp>;

 private:
  std::optional<DType> residual_;
};

}  // namespace gpt2

/// tokens (B, T), integers -> scores (B, T, vocabulary), by the embedding's weight. With a cache the tokens continue its content.
class Gpt2 {
 public:
  explicit Gpt2(const Gpt2Options& options = {});
  Tensor operator()(Arg tokens, nn::KeyValueCache* cache = nullptr) const { return head(hidden(tokens, cache)); }
  /// (B, T, width): the features for the scores.
  Tensor hidden(Arg tokens, nn::KeyValueCache* cache = nullptr) const;
  /// (…, width) -> (…, vocabulary).
  Tensor head(Arg x) const;
  nn::KeyValueCache cache(std::int64_t batch = 1, std::int64_t capacity = 0) const;
  const Gpt2Options& options() const { return options_; }

  nn::Embedding wte, wpe;
  nn::Dropout drop;
  std::vector<gpt2::Block> h;
  nn::LayerNorm ln_f;
  static constexpr auto fields = nn::fields<&Gpt2::wte, &Gpt2::wpe, &Gpt2::drop, &Gpt2::h, &Gpt2::ln_f>;

 private:
  Gpt2Options options_;
};

/// For dist::tensor_parallel(net, …): splits heads, hidden features and the vocabulary, so that net(tokens) gives this rank's scores, which
/// dist::cross_entropy takes. With Steps::Shared the layers in between are split, too: norms, dropout and sums of a rank see its part of the steps.
dist::TensorPlan gpt2_plan(dist::Steps steps = dist::Steps::Whole);

/// The names as this model has them: without "transformer." in front, the masks that old files hold ("h.0.attn.bias") and a tied "lm_head.weight".
StateDict gpt2_state(const StateDict& hugging_face);

}  // namespace tegula::models
