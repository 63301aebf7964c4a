#include "tegula/models/text/bert.h"

#include "tegula/graph/frame.h"
#include "tegula/models/text/decoder.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/attention.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

constexpr double kDeviation = 0.02;

const BertOptions& checked(const BertOptions& o) {
  if (o.vocabulary < 1 || o.layers < 1 || o.heads < 1 || o.context < 1 || o.types < 1 || o.hidden < 1 || o.width < 1 ||
      o.width % o.heads != 0) {
    ops::refuse("Bert", "width " + std::to_string(o.width) + ", heads " + std::to_string(o.heads) + ", layers " + std::to_string(o.layers),
                "positive sizes and a width that the heads divide", {});
  }
  return o;
}

nn::Linear dense(std::int64_t in, std::int64_t out, const BertOptions& o) {
  nn::Linear layer(in, out, {.dtype = o.dtype});
  layer.weight = normal({out, in}, 0, kDeviation, {.dtype = o.dtype});
  layer.bias = zeros({out}, o.dtype);
  return layer;
}
nn::Embedding table(std::int64_t rows, const BertOptions& o) {
  nn::Embedding out(rows, o.width, {.dtype = o.dtype});
  out.weight = normal({rows, o.width}, 0, kDeviation, {.dtype = o.dtype});
  return out;
}
nn::LayerNorm norm(const BertOptions& o) { return nn::LayerNorm(o.width, {.eps = o.norm_eps, .dtype = o.dtype}); }

}  // namespace

namespace bert {

Embeddings::Embeddings(const BertOptions& o)
    : word_embeddings(table(checked(o).vocabulary, o)),
      position_embeddings(table(o.context, o)),
      token_type_embeddings(table(o.types, o)),
      LayerNorm(norm(o)),
      dropout(o.dropout) {}
Tensor Embeddings::operator()(Tensor tokens, Tensor types) const {
  const Tensor places = slice(position_embeddings.weight, 0, {0, tokens.size(1)});
  const Tensor of_type = types.defined() ? token_type_embeddings(types) : select(token_type_embeddings.weight, 0, 0);
  return dropout(LayerNorm(word_embeddings(tokens) + places + of_type));
}

SelfAttention::SelfAttention(const BertOptions& o)
    : query(dense(o.width, o.width, o)),
      key(dense(o.width, o.width, o)),
      value(dense(o.width, o.width, o)),
      dropout(o.dropout),
      heads_(o.heads) {}
Tensor SelfAttention::operator()(Tensor x, Tensor lengths) const {
  const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
  const auto by_head = [&](const Tensor& t) { return permute(reshape(t, {batch, length, heads_, width / heads_}), {0, 2, 1, 3}); };
  const Tensor y = scaled_dot_product_attention(by_head(query(x)), by_head(key(x)), by_head(value(x)),
                                                {.dropout = dropout.training ? dropout.p : 0, .lengths = lengths});
  return reshape(permute(y, {0, 2, 1, 3}), x.shape());
}

Output::Output(std::int64_t in, const BertOptions& o) : dense(models::dense(in, o.width, o)), LayerNorm(norm(o)), dropout(o.dropout) {}
Tensor Output::operator()(Tensor y, Tensor x) const { return LayerNorm(x + dropout(dense(y))); }

Attention::Attention(const BertOptions& o) : self(o), output(o.width, o) {}
Intermediate::Intermediate(const BertOptions& o) : dense(models::dense(o.width, o.hidden, o)) {}
Layer::Layer(const BertOptions& o) : attention(o), intermediate(o), output(o.hidden, o) {}
Tensor Layer::operator()(Tensor x, Tensor lengths) const {
  x = attention.output(attention.self(x, lengths), x);
  return output(gelu(intermediate.dense(x)), x);
}

Pooler::Pooler(const BertOptions& o) : dense(models::dense(o.width, o.width, o)) {}
Transform::Transform(const BertOptions& o) : dense(models::dense(o.width, o.width, o)), LayerNorm(norm(o)) {}
Predictions::Predictions(const BertOptions& o) : transform(o), bias(zeros({o.vocabulary}, o.dtype)) {}

}  // namespace bert

Bert::Bert(const BertOptions& options, Pooling pooling)
    : embeddings(options),
      encoder{nn::repeat(options.layers, [&] { return bert::Layer(options); })},
      options_(options) {
  if (pooling == Pooling::Yes) pooler.emplace(options);
}

Tensor Bert::operator()(Arg tokens, const BertInput& input) const {
  const In frame("Bert", tokens.loc);
  const Tensor t = checked_tokens("Bert", tokens, options_.context);
  if (input.token_types.defined() && input.token_types.shape() != t.shape())
    ops::refuse("Bert", "token_types of shape " + to_string(input.token_types.shape()), "the tokens' " + to_string(t.shape()), tokens.loc);
  Tensor x = embeddings(t, input.token_types);
  for (const bert::Layer& layer : encoder.layer) x = layer(x, input.lengths);
  return x;
}

Tensor Bert::pooled(Arg features) const {
  const In frame("Bert", features.loc);
  if (!pooler) ops::refuse("Bert", "pooled() of a model without a pooler", "Bert(options, Bert::Pooling::Yes)", features.loc);
  return tanh(pooler->dense(select(features, 1, 0)));
}

BertForMaskedLM::BertForMaskedLM(const BertOptions& options) : bert(options, Bert::Pooling::No), cls(options) {}
Tensor BertForMaskedLM::features(Arg tokens, const BertInput& input) const {
  const In frame("BertForMaskedLM", tokens.loc);
  const bert::Transform& transform = cls.predictions.transform;
  return transform.LayerNorm(gelu(transform.dense(bert(tokens, input))));
}
Tensor BertForMaskedLM::head(Arg features) const {
  const In frame("BertForMaskedLM", features.loc);
  return linear(features, bert.embeddings.word_embeddings.weight, cls.predictions.bias);
}

Tensor BertForMaskedLM::at(Arg tokens, Arg of_places, const BertInput& input) const {
  const In frame("BertForMaskedLM", tokens.loc);
  const Tensor all = bert(tokens, input), places = of_places.tensor("BertForMaskedLM");  // (B, T, width)
  if (places.rank() != 2 || places.size(0) != all.size(0) || !is_integer(places.dtype()))
    ops::refuse("BertForMaskedLM", "places of shape " + to_string(places.shape()), "integers (batch, P)", of_places.loc);
  const Tensor some = gather(all, 1, expand(unsqueeze(places, 2), {places.size(0), places.size(1), all.size(2)}));
  const bert::Transform& transform = cls.predictions.transform;
  return head(transform.LayerNorm(gelu(transform.dense(some))));
}

BertForSequenceClassification::BertForSequenceClassification(const BertOptions& options, std::int64_t classes)
    : bert(options),
      dropout(options.dropout),
      classifier(dense(options.width, classes, options)) {}
Tensor BertForSequenceClassification::operator()(Arg tokens, const BertInput& input) const {
  const In frame("BertForSequenceClassification", tokens.loc);
  return classifier(dropout(bert.pooled(bert(tokens, input))));
}

Tensor pair_types(Arg of_tokens, std::int64_t separator) {
  const Tensor ends = cast(of_tokens.tensor("pair_types") == separator, i64);
  return cast(cumsum(ends, 1) - ends > 0, i64);
}

StateDict bert_state(const StateDict& hugging_face, std::string_view prefix) {
  StateDict out;
  for (const NamedTensor& one : hugging_face) {
    std::string_view name = one.name;
    constexpr std::string_view kBert = "bert.";
    const bool of_head = name.starts_with("cls.") || name.starts_with("classifier.") || name.starts_with("qa_outputs.");
    if (name.starts_with(kBert)) name.remove_prefix(kBert.size());
    if (name == "embeddings.position_ids" || name.starts_with("cls.predictions.decoder.") || name.starts_with("cls.seq_relationship."))
      continue;
    if (of_head && prefix.empty()) continue;
    std::string own = (of_head ? "" : std::string(prefix)) + std::string(name);
    for (const auto& [old, now] : {std::pair{".gamma", ".weight"}, {".beta", ".bias"}}) {
      if (own.ends_with(old)) own = own.substr(0, own.rfind('.')) + now;
    }
    out.push_back({std::move(own), one.value});
  }
  return out;
}

ModelDescription describe(const BertOptions& o, std::string kind) {
  ModelDescription out{.kind = std::move(kind)};
  const auto put = [&](const char* name, auto value) { out.numbers[name] = static_cast<double>(value); };
  put("vocabulary", o.vocabulary), put("width", o.width), put("layers", o.layers), put("heads", o.heads), put("hidden", o.hidden);
  put("context", o.context), put("types", o.types), put("dropout", o.dropout), put("norm_eps", o.norm_eps);
  return out;
}

BertOptions bert_options(const ModelDescription& d, const std::string& path) {
  constexpr std::int64_t kMost = 1 << 24, kWide = 1 << 16;
  return {.vocabulary = d.whole("vocabulary", 1, kMost, path),
          .width = d.whole("width", 1, kWide, path),
          .layers = d.whole("layers", 1, 1000, path),
          .heads = d.whole("heads", 1, kWide, path),
          .hidden = d.whole("hidden", 1, kWide, path),
          .context = d.whole("context", 1, kMost, path),
          .types = d.whole("types", 1, kWide, path),
          .dropout = d.number("dropout", 0, 0.99, path),
          .norm_eps = d.number("norm_eps", 0, 1, path)};
}

}  // namespace tegula::models
