#include "tegula/models/text/gpt2.h"

#include <cmath>

#include "tegula/dist/parallel/tensor_parallel.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/models/text/decoder.h"
#include "tegula/nn/checks.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

constexpr double kDeviation = 0.02;

/// Weights whose output is added to the residual sum begin smaller, by the number of such additions.
double last_deviation(const Gpt2Options& o) { return kDeviation / std::sqrt(2.0 * static_cast<double>(o.layers)); }

const Gpt2Options& checked(const Gpt2Options& o) {
  if (o.residual && !is_float(*o.residual))
    ops::refuse("Gpt2", "a residual stream of " + std::string(name(*o.residual)), "a float dtype", {});
  if (o.vocabulary < 1 || o.layers < 1 || o.heads < 1 || o.context < 1 || o.width < 1 || o.width % o.heads != 0) {
    ops::refuse("Gpt2", "width " + std::to_string(o.width) + ", heads " + std::to_string(o.heads) + ", layers " + std::to_string(o.layers),
                "positive sizes and a width that the heads divide", {});
  }
  return o;
}

nn::Embedding table(std::int64_t rows, std::int64_t width, DType dtype) {
  nn::Embedding out(rows, width, {.dtype = dtype});
  out.weight = normal({rows, width}, 0, kDeviation, {.dtype = dtype});
  return out;
}

}  // namespace

namespace gpt2 {
namespace {

/// x rounded to the stored dtype.
Tensor kept_in(const std::optional<DType>& dtype, const Tensor& x) { return dtype ? cast(cast(x, *dtype), x.dtype()) : x; }

}  // namespace

Projection::Projection(std::int64_t in, std::int64_t out, double deviation, DType dtype)
    : weight(normal({in, out}, 0, deviation, {.dtype = dtype})),
      bias(zeros({out}, dtype)) {}
Tensor Projection::operator()(Tensor x) const { return dist::linear(split.enter(x, {}), transpose(weight), bias, split, {}); }
void Projection::visit(nn::Visitor& visitor, const nn::Path& path) {
  visitor.split(path, split, {{&weight, 1, 0, split.blocks}, {&bias, 0, nn::SplitField::kNone, split.blocks}});
  nn::visit_fields(visitor, path, {{"weight", &weight}, {"bias", &bias}});
}

Attention::Attention(const Gpt2Options& o)
    : c_attn(o.width, 3 * o.width, kDeviation, o.dtype),
      c_proj(o.width, o.width, last_deviation(o), o.dtype),
      resid_dropout(o.dropout),
      heads_(o.heads),
      dropout_(o.dropout) {
  c_attn.split.blocks = 3, c_attn.split.units = heads_;
}

Tensor Attention::operator()(Tensor x, nn::KeyValueCache* cache, int layer) const {
  const std::int64_t own = c_attn.split.own(heads_);  // this rank's heads
  const auto parts = chunk(c_attn(x), 3, -1);
  const auto heads = [&](const Tensor& t) { return reshape(t, {t.size(0), t.size(1), own, t.size(2) / own}); };
  const Tensor y = attend_cached(heads(parts[0]), heads(parts[1]), heads(parts[2]), cache, layer, resid_dropout.training ? dropout_ : 0);
  return resid_dropout(c_proj(y));
}

FeedForward::FeedForward(const Gpt2Options& o)
    : c_fc(o.width, 4 * o.width, kDeviation, o.dtype),
      c_proj(4 * o.width, o.width, last_deviation(o), o.dtype),
      dropout(o.dropout) {}
Tensor FeedForward::operator()(Tensor x) const { return dropout(c_proj(gelu(c_fc(x), Approximate::Tanh))); }

Block::Block(const Gpt2Options& o)
    : ln_1(o.width, {.eps = o.norm_eps, .dtype = o.dtype}),
      attn(o),
      ln_2(o.width, {.eps = o.norm_eps, .dtype = o.dtype}),
      mlp(o),
      residual_(o.residual) {}
Tensor Block::operator()(Tensor x, nn::KeyValueCache* cache, int layer) const {
  x = kept_in(residual_, x + attn(ln_1(x), cache, layer));
  return kept_in(residual_, x + mlp(ln_2(x)));
}

}  // namespace gpt2

Gpt2::Gpt2(const Gpt2Options& options)
    : wte(table(checked(options).vocabulary, options.width, options.dtype)),
      wpe(table(options.context, options.width, options.dtype)),
      drop(options.dropout),
      h(nn::repeat(options.layers, [&] { return gpt2::Block(options); })),
      ln_f(options.width, {.eps = options.norm_eps, .dtype = options.dtype}),
      options_(options) {}

Tensor Gpt2::hidden(Arg tokens, nn::KeyValueCache* cache) const {
  const In frame("Gpt2", tokens.loc);
  const Tensor t = checked_tokens("Gpt2", tokens, options_.context);
  const Tensor embedded = wte(t);
  Tensor x =
      gpt2::kept_in(options_.residual, drop(embedded + (cache ? wpe(cache->places(t.size(1))) : slice(wpe.weight, 0, {0, t.size(1)}))));
  for (std::size_t i = 0; i < h.size(); ++i) {
    const auto layer = [&](const std::vector<Tensor>& in) { return h[i](in[0], cache, static_cast<int>(i)); };
    x = options_.checkpoint_layers && !cache ? checkpoint(layer, {x}, tokens.loc) : layer({x});
  }
  if (cache) cache->advance(t.size(1));
  return ln_f(x);
}

Tensor Gpt2::head(Arg x) const {
  const In frame("Gpt2", x.loc);
  return wte.scores(x);
}

nn::KeyValueCache Gpt2::cache(std::int64_t batch, std::int64_t capacity) const {
  return nn::KeyValueCache({.layers = static_cast<int>(options_.layers),
                            .batch = batch,
                            .capacity = capacity > 0 ? capacity : options_.context,
                            .heads = h.front().attn.c_attn.split.own(options_.heads),
                            .width = options_.width / options_.heads,
                            .dtype = options_.dtype});
}

dist::TensorPlan gpt2_plan(dist::Steps steps) {
  using namespace dist;
  const Placement between = steps == Steps::Shared ? Placement::Sequence : Placement::Replicated;
  TensorPlan plan{{"wte", VocabularyParallel{}}};
  for (const std::string part : {"attn", "mlp"}) {
    plan.push_back({"h.*." + part + (part == "attn" ? ".c_attn" : ".c_fc"), ColwiseParallel{.input = between}});
    plan.push_back({"h.*." + part + ".c_proj", RowwiseParallel{.output = between}});
  }
  if (steps == Steps::Whole) return plan;
  plan.push_back({"drop", SequenceParallel{.input = Placement::Replicated}});
  for (const std::string layer : {"h.*.ln_1", "h.*.ln_2", "h.*.attn.resid_dropout", "h.*.mlp.dropout"})
    plan.push_back({layer, SequenceParallel{}});
  plan.push_back({"ln_f", SequenceParallel{.output = Placement::Replicated}});
  return plan;
}

StateDict gpt2_state(const StateDict& hugging_face) {
  StateDict out;
  for (const NamedTensor& one : hugging_face) {
    std::string_view name = one.name;
    if (constexpr std::string_view kPrefix = "transformer."; name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    const bool mask = name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
    if (!mask && name != "lm_head.weight")
      out.push_back({.name = std::string(name), .value = one.value, .from = name == one.name ? one.from : one.name, .change = one.change});
  }
  return out;
}

}  // namespace tegula::models
