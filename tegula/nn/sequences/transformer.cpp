#include "tegula/nn/sequences/transformer.h"

#include "tegula/graph/frame.h"
#include "tegula/nn/checks.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/shape/join.h"

namespace tegula::nn {
namespace {

MultiheadAttention attention_of(std::int64_t d_model, std::int64_t nhead, const TransformerOptions& o, const Line& where) {
  return MultiheadAttention(d_model, nhead, {.dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first, .dtype = o.dtype}, where);
}
Linear first_linear(std::int64_t d_model, const TransformerOptions& o, const Line& where) {
  const std::int64_t parts = o.activation == FeedForwardActivation::SwiGLU ? 2 : 1;
  Linear layer(d_model, parts * o.dim_feedforward, {.bias = o.bias, .dtype = o.dtype}, where);
  layer.split.blocks = parts;
  return layer;
}
Linear second_linear(std::int64_t d_model, const TransformerOptions& o, const Line& where) {
  return Linear(o.dim_feedforward, d_model, {.bias = o.bias, .dtype = o.dtype}, where);
}
LayerNorm norm_of(std::int64_t d_model, const TransformerOptions& o, const Line& where) {
  return LayerNorm(d_model, {.eps = o.layer_norm_eps, .bias = o.bias, .dtype = o.dtype}, where);
}

Tensor activated(const Tensor& x, FeedForwardActivation activation) {
  switch (activation) {
    case FeedForwardActivation::Relu: return relu(x);
    case FeedForwardActivation::Gelu: return gelu(x);
    case FeedForwardActivation::GeluTanh: return gelu(x, Approximate::Tanh);
    default: break;
  }
  const auto parts = split(x, x.size(-1) / 2, -1);
  return silu(parts[0]) * parts[1];
}

/// x + f(norm(x)), or norm(x + f(x)).
template <class F>
Tensor residual(const Tensor& x, const LayerNorm& norm, bool norm_first, const StochasticDepth& drop_path, F&& f) {
  const Tensor y = f(norm_first ? norm(x) : x);
  const Tensor sum = x + (drop_path.p > 0 ? drop_path(y) : y);
  return norm_first ? sum : norm(sum);
}

TransformerOptions of_layer(TransformerOptions o, std::int64_t layer, std::int64_t layers) {
  o.stochastic_depth *= static_cast<double>(layer + 1) / static_cast<double>(layers);
  return o;
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead, const TransformerOptions& o, Line where)
    : self_attn(attention_of(d_model, nhead, o, where)),
      linear1(first_linear(d_model, o, where)),
      dropout(o.dropout, nullptr, where),
      linear2(second_linear(d_model, o, where)),
      norm1(norm_of(d_model, o, where)),
      norm2(norm_of(d_model, o, where)),
      dropout1(o.dropout, nullptr, where),
      dropout2(o.dropout, nullptr, where),
      drop_path(o.stochastic_depth, o.batch_first ? 0 : -2, nullptr, where),
      options_(o) {}

Tensor TransformerEncoderLayer::operator()(Arg src, const EncoderMasks& masks) const {
  const In frame("TransformerEncoderLayer", src.loc);
  Tensor x = residual(src.tensor("TransformerEncoderLayer"), norm1, options_.norm_first, drop_path, [&](const Tensor& t) {
    return dropout1(
        self_attn(t, t, t, {.key_padding_mask = masks.src_key_padding_mask, .attn_mask = masks.mask, .is_causal = masks.is_causal}).output);
  });
  return residual(x, norm2, options_.norm_first, drop_path,
                  [&](const Tensor& t) { return dropout2(linear2(dropout(activated(linear1(t), options_.activation)))); });
}

TransformerDecoderLayer::TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead, const TransformerOptions& o, Line where)
    : self_attn(attention_of(d_model, nhead, o, where)),
      multihead_attn(attention_of(d_model, nhead, o, where)),
      linear1(first_linear(d_model, o, where)),
      dropout(o.dropout, nullptr, where),
      linear2(second_linear(d_model, o, where)),
      norm1(norm_of(d_model, o, where)),
      norm2(norm_of(d_model, o, where)),
      norm3(norm_of(d_model, o, where)),
      dropout1(o.dropout, nullptr, where),
      dropout2(o.dropout, nullptr, where),
      dropout3(o.dropout, nullptr, where),
      drop_path(o.stochastic_depth, o.batch_first ? 0 : -2, nullptr, where),
      options_(o) {}

Tensor TransformerDecoderLayer::operator()(Arg tgt, Arg memory, const DecoderMasks& masks, int layer) const {
  const In frame("TransformerDecoderLayer", tgt.loc);
  const Tensor from = memory.tensor("TransformerDecoderLayer");
  const bool norm_first = options_.norm_first;
  Tensor x = residual(tgt.tensor("TransformerDecoderLayer"), norm1, norm_first, drop_path, [&](const Tensor& t) {
    return dropout1(self_attn(t, t, t,
                              {.key_padding_mask = masks.tgt_key_padding_mask,
                               .attn_mask = masks.tgt_mask,
                               .is_causal = masks.tgt_is_causal,
                               .cache = masks.cache,
                               .layer = layer})
                        .output);
  });
  x = residual(x, norm2, norm_first, drop_path, [&](const Tensor& t) {
    const auto attended = multihead_attn(
        t, from, from,
        {.key_padding_mask = masks.memory_key_padding_mask, .attn_mask = masks.memory_mask, .need_weights = masks.weights != nullptr});
    if (masks.weights) masks.weights->push_back(attended.weights);
    return dropout2(attended.output);
  });
  return residual(x, norm3, norm_first, drop_path,
                  [&](const Tensor& t) { return dropout3(linear2(dropout(activated(linear1(t), options_.activation)))); });
}

TransformerEncoder::TransformerEncoder(std::int64_t num_layers, std::int64_t d_model, std::int64_t nhead, const TransformerOptions& o,
                                       FinalNorm final_norm, Line where)
    : layers(
          repeat(num_layers, [&](std::int64_t i) { return TransformerEncoderLayer(d_model, nhead, of_layer(o, i, num_layers), where); })) {
  require_positive("TransformerEncoder", {{"num_layers", num_layers}}, where);
  if (final_norm == FinalNorm::Yes) norm.emplace(norm_of(d_model, o, where));
}

Tensor TransformerEncoder::operator()(Arg src, const EncoderMasks& masks) const {
  const In frame("TransformerEncoder", src.loc);
  Tensor x = src.tensor("TransformerEncoder");
  for (const TransformerEncoderLayer& layer : layers) x = layer(x, masks);
  return norm ? (*norm)(x) : x;
}

TransformerDecoder::TransformerDecoder(std::int64_t num_layers, std::int64_t d_model, std::int64_t nhead, const TransformerOptions& o,
                                       FinalNorm final_norm, Line where)
    : layers(
          repeat(num_layers, [&](std::int64_t i) { return TransformerDecoderLayer(d_model, nhead, of_layer(o, i, num_layers), where); })) {
  require_positive("TransformerDecoder", {{"num_layers", num_layers}}, where);
  if (final_norm == FinalNorm::Yes) norm.emplace(norm_of(d_model, o, where));
}

Tensor TransformerDecoder::operator()(Arg tgt, Arg memory, const DecoderMasks& masks) const {
  const In frame("TransformerDecoder", tgt.loc);
  Tensor x = tgt.tensor("TransformerDecoder");
  for (std::size_t i = 0; i < layers.size(); ++i) x = layers[i](x, memory, masks, static_cast<int>(i));
  return norm ? (*norm)(x) : x;
}

}  // namespace tegula::nn
