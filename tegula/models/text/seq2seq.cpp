#include "tegula/models/text/seq2seq.h"

#include <cmath>
#include <numeric>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/models/text/beam.h"
#include "tegula/models/text/decoder.h"
#include "tegula/nn/checks.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/loop.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

constexpr std::string_view kName = "Seq2Seq";
constexpr std::int64_t kAnyLength = std::int64_t{1} << 30;

const Seq2SeqOptions& checked(const Seq2SeqOptions& o) {
  nn::require_positive(kName,
                       {{"source_vocabulary", o.source_vocabulary},
                        {"target_vocabulary", o.target_vocabulary},
                        {"embedding", o.embedding},
                        {"hidden", o.hidden},
                        {"layers", o.layers}},
                       {});
  if (o.tied == Tied::All && o.source_vocabulary != o.target_vocabulary)
    ops::refuse(kName, "vocabularies of " + std::to_string(o.source_vocabulary) + " and " + std::to_string(o.target_vocabulary),
                "one, for one embedding", {});
  return o;
}

nn::Embedding table(std::int64_t rows, const Seq2SeqOptions& o) {
  nn::Embedding out(rows, o.embedding, {.dtype = o.dtype});
  out.weight = normal({rows, o.embedding}, 0, 1 / std::sqrt(static_cast<double>(o.embedding)), {.dtype = o.dtype});
  return out;
}

std::vector<nn::LSTMCell> cells(const Seq2SeqOptions& o) {
  std::vector<nn::LSTMCell> out;
  const std::int64_t beside = o.alignment == Alignment::Additive ? 2 * o.hidden : o.embedding;  // the context, or the fed features
  for (std::int64_t layer = 0; layer < o.layers; ++layer)
    out.emplace_back(layer == 0 ? o.embedding + beside : o.hidden, o.hidden, nn::RecurrentOptions{.dtype = o.dtype});
  return out;
}

}  // namespace

Seq2Seq::Seq2Seq(const Seq2SeqOptions& o)
    : target_embedding(table(checked(o).target_vocabulary, o)),
      dropout(o.dropout),
      encoder(o.embedding, o.hidden,
              {.layers = static_cast<int>(o.layers), .batch_first = true, .dropout = o.dropout, .bidirectional = true, .dtype = o.dtype}),
      bridge_h(2 * o.hidden, o.hidden, {.dtype = o.dtype}),
      bridge_c(2 * o.hidden, o.hidden, {.dtype = o.dtype}),
      decoder(cells(o)),
      combine(3 * o.hidden + (o.alignment == Alignment::Additive ? o.embedding : 0), o.embedding, {.dtype = o.dtype}),
      options_(o) {
  if (o.tied != Tied::All) source_embedding.emplace(table(o.source_vocabulary, o));
  if (o.tied == Tied::None) generator.emplace(o.embedding, o.target_vocabulary, nn::LinearOptions{.dtype = o.dtype});
  if (o.alignment == Alignment::Additive)
    additive.emplace(o.hidden, 2 * o.hidden, o.hidden, nn::AdditiveAttentionOptions{.bias = true, .dtype = o.dtype});
  if (o.alignment == Alignment::General) general.emplace(o.hidden, 2 * o.hidden, o.dtype);
}

Seq2Seq::Encoded Seq2Seq::encode(Arg source, const Tensor& lengths) const {
  const In frame(kName, source.loc);
  const Tensor t = checked_tokens(kName, source, kAnyLength);
  const nn::Embedding& embedding = source_embedding ? *source_embedding : target_embedding;
  const nn::Recurrent read = encoder(dropout(embedding(t)), {.lengths = lengths});
  Encoded out{.annotations = read.output, .keys = {}, .state = {}};
  const std::int64_t batch = t.size(0), hidden = options_.hidden;
  // Dot compares features with features: those of both directions are added.
  if (additive) out.keys = additive->project(out.annotations);
  else if (general) out.keys = general->project(out.annotations);
  else out.keys = slice(out.annotations, 2, {0, hidden}) + slice(out.annotations, 2, {hidden, 2 * hidden});
  const auto of_layer = [&](const Tensor& states, std::int64_t layer) {  // (2 layers, N, hidden) -> (N, 2 hidden)
    return concat({select(states, 0, 2 * layer), select(states, 0, 2 * layer + 1)}, 1);
  };
  for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
    out.state.push_back(tanh(bridge_h(of_layer(read.h, layer))));
    out.state.push_back(bridge_c(of_layer(read.c, layer)));
  }
  if (feeds()) out.state.push_back(zeros({batch, options_.embedding}, options_.dtype));
  return out;
}

nn::AttendedSequence Seq2Seq::attend(const Tensor& query, const Encoded& from, const Tensor& lengths) const {
  const Tensor one = unsqueeze(query, 1);  // (N, 1, hidden)
  const nn::Attendable seen{.lengths = lengths};
  const nn::AttendedSequence attended = additive  ? additive->with_projected(one, from.keys, from.annotations, seen)
                                        : general ? general->with_projected(one, from.keys, from.annotations, seen)
                                                  : nn::dot_attention(one, from.keys, from.annotations, seen);
  return {squeeze(attended.context, 1), squeeze(attended.weights, 1)};
}

Seq2Seq::Decoded Seq2Seq::decode(Arg target, const Encoded& from, const Tensor& lengths) const {
  const In frame(kName, target.loc);
  const Tensor t = checked_tokens(kName, target, kAnyLength);
  const Tensor words = dropout(target_embedding(t));  // (N, T, embedding)
  const Scanned steps = scan(
      [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& x) {
        std::vector<Tensor> next = carry;
        nn::AttendedSequence seen;
        Tensor in;
        if (feeds()) {
          in = concat({x[0], carry.back()}, 1);
        } else {
          seen = attend(carry[carry.size() - 2], from, lengths);  // h of the last layer
          in = concat({x[0], seen.context}, 1);
        }
        for (std::size_t layer = 0; layer < decoder.size(); ++layer) {
          const auto state = decoder[layer](layer > 0 ? dropout(in) : in, {carry[2 * layer], carry[2 * layer + 1]});
          next[2 * layer] = state.h, next[2 * layer + 1] = state.c;
          in = state.h;
        }
        if (!feeds()) return Scanned{next, {in, seen.context, seen.weights}};
        seen = attend(in, from, lengths);
        next.back() = tanh(combine(concat({in, seen.context}, 1)));
        return Scanned{next, {next.back(), seen.weights}};
      },
      from.state, {transpose(words, 0, 1)}, {}, target.loc);
  const auto batch_first = [](const Tensor& y) { return transpose(y, 0, 1); };
  Decoded out{.features = {}, .weights = batch_first(steps.ys.back()), .state = steps.carry};
  // Without feeding the features are not needed in the loop: they are one product after it.
  out.features = feeds() ? batch_first(steps.ys[0]) : tanh(combine(concat({batch_first(steps.ys[0]), batch_first(steps.ys[1]), words}, 2)));
  return out;
}

Tensor Seq2Seq::head(Arg features) const {
  const In frame(kName, features.loc);
  const Tensor x = dropout(features);
  return generator ? (*generator)(x) : linear(x, target_embedding.weight);
}

Tensor Seq2Seq::operator()(Arg source, Arg target, const Tensor& lengths) const {
  const In frame(kName, source.loc);
  return head(decode(target, encode(source, lengths), lengths).features);
}

class Seq2SeqGenerator::Impl {
 public:
  Impl(const Seq2Seq& net, std::int64_t batch, std::int64_t width, const TranslateOptions& options)
      : net_(net),
        batch_(batch),
        width_(width),
        options_(options),
        rows_(batch * options.beams),
        annotations_(zeros({rows_, width, 2 * net.options().hidden}, net.options().dtype)),
        keys_(zeros({rows_, width, net.options().hidden}, net.options().dtype)),
        lengths_(ones({rows_}, i64)),
        step_(jit(Step([this](const Tensor& in) {  // (2, rows): tokens, and which former row each one continues
          const Tensor order = select(in, 0, 1);
          std::vector<Tensor> state;
          for (const Variable& one : state_) state.push_back(take(one, order, 0));
          const auto decoded = net_.decode(unsqueeze(select(in, 0, 0), 1), {annotations_, keys_, state}, lengths_.read());
          for (std::size_t i = 0; i < state_.size(); ++i) state_[i] = decoded.state[i];
          const Candidates best = best_candidates(net_.head(select(decoded.features, 1, 0)), 2 * options_.beams);
          return std::vector<Tensor>{best.values, best.tokens};
        }))) {}

  std::vector<Generated> operator()(const std::vector<std::vector<std::int64_t>>& sources) {
    const PaddedSources padded = pad_sources(sources, batch_, width_, options_.beams);
    const auto for_beams = [&](const Tensor& x) { return repeat_interleave(x, options_.beams, 0); };
    const Seq2Seq::Encoded encoded = net_.encode(padded.tokens, slice(padded.lengths, 0, {.step = options_.beams}));
    lengths_ = padded.lengths;
    annotations_ = for_beams(encoded.annotations);
    keys_ = for_beams(encoded.keys);
    state_.resize(encoded.state.size());
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] = for_beams(encoded.state[i]);
    const auto step = [this](const std::vector<std::int64_t>& tokens, const std::vector<std::int64_t>& order) {
      const std::vector<Tensor> best = step_(stack({tensor(tokens, {rows_}), tensor(order, {rows_})}));
      return Candidates{best[0], best[1]};
    };
    std::vector<std::int64_t> same(static_cast<std::size_t>(rows_));
    std::iota(same.begin(), same.end(), std::int64_t{0});
    const Candidates first = step(std::vector<std::int64_t>(same.size(), options_.begin), same);
    std::vector<Generated> out = search_beams(
        std::vector<BeamSearch>(static_cast<std::size_t>(batch_), BeamSearch(options_.beams, options_.length_penalty, {options_.end})),
        options_.max_new_tokens, first, step);
    out.resize(sources.size());
    return out;
  }

 private:
  using Step = std::function<std::vector<Tensor>(const Tensor&)>;
  const Seq2Seq& net_;
  std::int64_t batch_, width_;
  TranslateOptions options_;
  std::int64_t rows_;
  Variable annotations_, keys_, lengths_;  // per beam
  std::vector<Variable> state_;
  Jit<Step> step_;
};

Seq2SeqGenerator::Seq2SeqGenerator(const Seq2Seq& net, std::int64_t batch, std::int64_t source_width, const TranslateOptions& options)
    : impl_(std::make_unique<Impl>(net, batch, source_width, options)) {}
Seq2SeqGenerator::~Seq2SeqGenerator() = default;
Seq2SeqGenerator::Seq2SeqGenerator(Seq2SeqGenerator&&) noexcept = default;
Seq2SeqGenerator& Seq2SeqGenerator::operator=(Seq2SeqGenerator&&) noexcept = default;
std::vector<Generated> Seq2SeqGenerator::operator()(const std::vector<std::vector<std::int64_t>>& sources) { return (*impl_)(sources); }

}  // namespace tegula::models
