#include "tests/differential/parameters.h"

namespace differential {
namespace {

nn::TransformerOptions transformer_options(const Tensors& x, const Attributes& a) {
  return {.dim_feedforward = whole(a, "dim_feedforward", 8),
          .dropout = 0,
          .activation = flag(a, "gelu") ? nn::FeedForwardActivation::Gelu : nn::FeedForwardActivation::Relu,
          .batch_first = flag(a, "batch_first"),
          .norm_first = flag(a, "norm_first"),
          .dtype = x[0].dtype()};
}

}  // namespace

void add_attention(Registry& r) {
  r["scaled_dot_product_attention"] = [](const Tensors& x, const Attributes& a) {
    AttentionOptions options{.causal = flag(a, "causal"), .window = whole(a, "window", 0)};
    if (a.contains("scale")) options.scale = real(a, "scale", 1);
    std::size_t next = 3;
    if (flag(a, "mask")) options.mask = x.at(next++);
    if (flag(a, "bias")) options.bias = x.at(next++);
    if (flag(a, "lengths")) options.lengths = x.at(next++);
    if (flag(a, "start")) options.start = x.at(next++);
    const Attended y = attention_with_log_sum_exp(x[0], x[1], x[2], options);
    // The sums of rows that see nothing are -inf, in which PyTorch has no part.
    if (flag(a, "sums")) return Tensors{y.output, y.log_sum_exp};
    return Tensors{y.output};
  };
  add_layer(
      r, "nn.MultiheadAttention",
      [](const Tensors& x, const Attributes& a) {
        nn::MultiheadAttention layer(x[0].size(-1), whole(a, "heads", 1),
                                     {.bias = flag(a, "with_bias"),
                                      .add_bias_kv = flag(a, "add_bias_kv"),
                                      .add_zero_attn = flag(a, "add_zero_attn"),
                                      .kdim = x[1].size(-1),
                                      .vdim = x[2].size(-1),
                                      .batch_first = flag(a, "batch_first"),
                                      .dtype = x[0].dtype()});
        fill_by_name(layer, x, a, 3u + flag(a, "key_padding_mask") + flag(a, "attn_mask"));
        return layer;
      },
      [](const nn::MultiheadAttention& layer, const Tensors& x, const Attributes& a) {
        nn::MultiheadAttentionInput input{
            .is_causal = flag(a, "is_causal"), .need_weights = true, .average_attn_weights = flag(a, "average")};
        std::size_t next = 3;
        if (flag(a, "key_padding_mask")) input.key_padding_mask = x.at(next++);
        if (flag(a, "attn_mask")) input.attn_mask = x.at(next++);
        const bool same = flag(a, "same");  // self-attention: one product
        const auto y = layer(x[0], same ? x[0] : x[1], same ? x[0] : x[2], input);
        return with_parameter_gradients(layer, {y.output, y.weights});
      });
  r["nn.AdaptiveLogSoftmaxWithLoss"] = [](const Tensors& x, const Attributes& a) {
    const Dims cutoffs = dims(a, "cutoffs");
    nn::AdaptiveLogSoftmaxWithLoss layer(x[0].size(-1), whole(a, "classes", 1), {cutoffs.begin(), cutoffs.end()},
                                         {.div_value = real(a, "div_value", 4), .head_bias = flag(a, "head_bias"), .dtype = x[0].dtype()});
    fill_by_name(layer, x, a, 2);
    const auto y = layer(x[0], x[1]);
    return with_parameter_gradients(layer, {y.output, y.loss, layer.log_prob(x[0])});
  };
  add_layer(
      r, "nn.TransformerEncoder",
      [](const Tensors& x, const Attributes& a) {
        nn::TransformerEncoder layer(whole(a, "layers", 1), x[0].size(-1), whole(a, "heads", 1), transformer_options(x, a),
                                     flag(a, "norm") ? nn::FinalNorm::Yes : nn::FinalNorm::No);
        fill_by_name(layer, x, a, 1u + flag(a, "padding"));
        return layer;
      },
      [](nn::TransformerEncoder& layer, const Tensors& x, const Attributes& a) {
        nn::EncoderMasks masks{.is_causal = flag(a, "is_causal")};
        if (flag(a, "padding")) masks.src_key_padding_mask = x.at(1);
        return with_parameter_gradients(layer, {layer(x[0], masks)});
      });
  add_layer(
      r, "nn.TransformerDecoder",
      [](const Tensors& x, const Attributes& a) {
        nn::TransformerDecoder layer(whole(a, "layers", 1), x[0].size(-1), whole(a, "heads", 1), transformer_options(x, a),
                                     flag(a, "norm") ? nn::FinalNorm::Yes : nn::FinalNorm::No);
        fill_by_name(layer, x, a, 2u + flag(a, "padding"));
        return layer;
      },
      [](nn::TransformerDecoder& layer, const Tensors& x, const Attributes& a) {
        nn::DecoderMasks masks{.tgt_is_causal = flag(a, "is_causal")};
        if (flag(a, "padding")) masks.memory_key_padding_mask = x.at(2);
        return with_parameter_gradients(layer, {layer(x[0], x[1], masks)});
      });
}

}  // namespace differential
