#pragma once
// Transformer layers by PyTorch's names and options (Vaswani et al., 2017).

#include <optional>
#include <vector>

#include "tegula/nn/dropout.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/sequences/attention.h"

namespace tegula::nn {

/// GeluTanh: gelu's tanh form (Approximate::Tanh), which libraries compute as part of a product. SwiGLU: silu(a) * b, where linear1 gives both a
/// and b, dim_feedforward features each (Shazeer, "GLU variants improve transformer", 2020).
enum class FeedForwardActivation : std::uint8_t { Relu, Gelu, GeluTanh, SwiGLU };

struct TransformerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  /// Probability with which a sample skips what attention or feed-forward add to it; in layer i of L it is i / L times that (nn::StochasticDepth).
  double stochastic_depth = 0;
  FeedForwardActivation activation = FeedForwardActivation::Relu;
  double layer_norm_eps = 1e-5;
  bool batch_first = false;  // (N, T, E) instead of (T, N, E)
  bool norm_first = false;  // norms before attention and feed-forward, instead of behind the sums
  bool bias = true;
  DType dtype = f32;
};

struct EncoderMasks {  // as nn::MultiheadAttentionInput has them
  Tensor mask = {};
  Tensor src_key_padding_mask = {};
  bool is_causal = false;
};
struct DecoderMasks {
  Tensor tgt_mask = {};
  Tensor memory_mask = {};
  Tensor tgt_key_padding_mask = {};
  Tensor memory_key_padding_mask = {};
  bool tgt_is_causal = false;
  KeyValueCache* cache = nullptr;  // of the self-attentions: tgt continues its tokens; the caller advances it
  std::vector<Tensor>* weights = nullptr;  // gets each layer's attention over the memory, (N, L, S), the mean of the heads
};

/// Self-attention and a feed-forward net, each in a residual sum with a layer norm.
class TransformerEncoderLayer {
 public:
  TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead, const TransformerOptions& options = {}, Line where = Line::current());
  Tensor operator()(Arg src, const EncoderMasks& masks = {}) const;

  MultiheadAttention self_attn;
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  LayerNorm norm1, norm2;
  Dropout dropout1, dropout2;
  StochasticDepth drop_path;
  static constexpr auto fields =
      nn::fields<&TransformerEncoderLayer::self_attn, &TransformerEncoderLayer::linear1, &TransformerEncoderLayer::dropout,
                 &TransformerEncoderLayer::linear2, &TransformerEncoderLayer::norm1, &TransformerEncoderLayer::norm2,
                 &TransformerEncoderLayer::dropout1, &TransformerEncoderLayer::dropout2, &TransformerEncoderLayer::drop_path>;

 private:
  TransformerOptions options_;
};

/// The same with attention over a memory (S, N, E) between the two.
class TransformerDecoderLayer {
 public:
  TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead, const TransformerOptions& options = {}, Line where = Line::current());
  /// `layer`: which of the cache's this one is.
  Tensor operator()(Arg tgt, Arg memory, const DecoderMasks& masks = {}, int layer = 0) const;

  MultiheadAttention self_attn, multihead_attn;
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  LayerNorm norm1, norm2, norm3;
  Dropout dropout1, dropout2, dropout3;
  StochasticDepth drop_path;
  static constexpr auto fields =
      nn::fields<&TransformerDecoderLayer::self_attn, &TransformerDecoderLayer::multihead_attn, &TransformerDecoderLayer::linear1,
                 &TransformerDecoderLayer::dropout, &TransformerDecoderLayer::linear2, &TransformerDecoderLayer::norm1,
                 &TransformerDecoderLayer::norm2, &TransformerDecoderLayer::norm3, &TransformerDecoderLayer::dropout1,
                 &TransformerDecoderLayer::dropout2, &TransformerDecoderLayer::dropout3, &TransformerDecoderLayer::drop_path>;

 private:
  TransformerOptions options_;
};

/// A layer norm after the last layer: needed with norm_first.
enum class FinalNorm : bool { No, Yes };

/// num_layers of them, one after the other, each with weights of its own (PyTorch copies one layer).
class TransformerEncoder {
 public:
  TransformerEncoder(std::int64_t num_layers, std::int64_t d_model, std::int64_t nhead, const TransformerOptions& options = {},
                     FinalNorm final_norm = FinalNorm::No, Line where = Line::current());
  Tensor operator()(Arg src, const EncoderMasks& masks = {}) const;

  std::vector<TransformerEncoderLayer> layers;
  std::optional<LayerNorm> norm;
  static constexpr auto fields = nn::fields<&TransformerEncoder::layers, &TransformerEncoder::norm>;
};

class TransformerDecoder {
 public:
  TransformerDecoder(std::int64_t num_layers, std::int64_t d_model, std::int64_t nhead, const TransformerOptions& options = {},
                     FinalNorm final_norm = FinalNorm::No, Line where = Line::current());
  Tensor operator()(Arg tgt, Arg memory, const DecoderMasks& masks = {}) const;

  std::vector<TransformerDecoderLayer> layers;
  std::optional<LayerNorm> norm;
  static constexpr auto fields = nn::fields<&TransformerDecoder::layers, &TransformerDecoder::norm>;
};

}  // namespace tegula::nn
