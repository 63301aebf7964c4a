#include "tegula/models/text/transformer.h"

#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/graph/frame.h"
#include "tegula/models/text/decoder.h"
#include "tegula/nn/sequences/positions.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

nn::TransformerOptions layers_of(const TransformerOptions& o) {
  return {.dim_feedforward = o.hidden, .dropout = o.dropout, .batch_first = true, .norm_first = o.norm_first};
}
nn::FinalNorm final_norm(const TransformerOptions& o) { return o.norm_first ? nn::FinalNorm::Yes : nn::FinalNorm::No; }

/// Embeddings begin with deviation width^-1/2 and are multiplied by width^1/2, so that as scores' weights they have the right size.
nn::Embedding table(std::int64_t rows, std::int64_t width) {
  nn::Embedding out(rows, width);
  out.weight = normal({rows, width}, 0, 1 / std::sqrt(static_cast<double>(width)));
  return out;
}

/// (N, S): true behind the end of a source.
Tensor padding(const Tensor& lengths, std::int64_t batch, std::int64_t length) {
  if (!lengths.defined()) return {};
  return iota({batch, length}, 1) >= reshape(ops::check_lengths("Transformer", lengths, length, "tokens", {}), {batch, 1});
}

}  // namespace

Transformer::Transformer(const TransformerOptions& o)
    : target_embedding(table(o.target_vocabulary, o.width)),
      dropout(o.dropout),
      encoder(o.encoder_layers, o.width, o.heads, layers_of(o), final_norm(o)),
      decoder(o.decoder_layers, o.width, o.heads, layers_of(o), final_norm(o)),
      options_(o) {
  if (o.tied == Tied::All && o.source_vocabulary != o.target_vocabulary) {
    ops::refuse("Transformer", "vocabularies of " + std::to_string(o.source_vocabulary) + " and " + std::to_string(o.target_vocabulary),
                "one, for one embedding", {});
  }
  if (o.tied != Tied::All) source_embedding.emplace(table(o.source_vocabulary, o.width));
  if (o.tied == Tied::None) generator.emplace(o.width, o.target_vocabulary);
}

Tensor Transformer::embedded(const nn::Embedding& embedding, const Tensor& tokens, const Tensor& places) const {
  const Tensor x = embedding(tokens) * std::sqrt(static_cast<double>(options_.width));
  return dropout(x + nn::sinusoidal_positions(places, options_.width));
}

Tensor Transformer::encode(Arg source, const Tensor& lengths) const {
  const In frame("Transformer", source.loc);
  const Tensor t = checked_tokens("Transformer", source, options_.context);
  const nn::Embedding& embedding = source_embedding ? *source_embedding : target_embedding;
  return encoder(embedded(embedding, t, arange(t.size(1))), {.src_key_padding_mask = padding(lengths, t.size(0), t.size(1))});
}

Tensor Transformer::hidden(Arg target, Arg of_memory, const Tensor& lengths, nn::KeyValueCache* cache) const {
  const In frame("Transformer", target.loc);
  const Tensor t = checked_tokens("Transformer", target, options_.context), memory = of_memory.tensor("Transformer");
  const Tensor x = embedded(target_embedding, t, cache ? cache->places(t.size(1)) : arange(t.size(1)));
  const Tensor y = decoder(
      x, memory, {.memory_key_padding_mask = padding(lengths, memory.size(0), memory.size(1)), .tgt_is_causal = !cache, .cache = cache});
  if (cache) cache->advance(t.size(1));
  return y;
}

Tensor Transformer::attention(Arg source, Arg target, const Tensor& lengths) const {
  const In frame("Transformer", source.loc);
  const Tensor t = checked_tokens("Transformer", target, options_.context), memory = encode(source, lengths);
  std::vector<Tensor> weights;
  decoder(embedded(target_embedding, t, arange(t.size(1))), memory,
          {.memory_key_padding_mask = padding(lengths, memory.size(0), memory.size(1)), .tgt_is_causal = true, .weights = &weights});
  return weights.back();
}

Tensor Transformer::head(Arg x) const {
  const In frame("Transformer", x.loc);
  return generator ? (*generator)(x) : linear(x, target_embedding.weight);
}

Tensor Transformer::operator()(Arg source, Arg target, const Tensor& lengths) const {
  const In frame("Transformer", source.loc);
  return head(hidden(target, encode(source, lengths), lengths));
}

nn::KeyValueCache Transformer::cache(std::int64_t batch, std::int64_t capacity) const {
  return nn::KeyValueCache({.layers = static_cast<int>(options_.decoder_layers),
                            .batch = batch,
                            .capacity = capacity > 0 ? capacity : options_.context,
                            .heads = options_.heads,
                            .width = options_.width / options_.heads});
}

TranslationGenerator::TranslationGenerator(const Transformer& net, std::int64_t batch, std::int64_t source_width,
                                           const TranslateOptions& options)
    : net_(&net),
      batch_(batch),
      width_(source_width),
      options_(options),
      memory_(std::make_unique<Variable>(zeros({batch * options.beams, source_width, net.options().width}))),
      lengths_(std::make_unique<Variable>(ones({batch * options.beams}, i64))),
      generator_(
          [&net, memory = memory_.get(), lengths = lengths_.get()](Tensor tokens, nn::KeyValueCache* cache) {
            // For its shape alone one row is asked.
            const std::int64_t rows = tokens.size(0);
            return net.hidden(tokens, slice(*memory, 0, {0, rows}), slice(*lengths, 0, {0, rows}), cache);
          },
          [&net](Tensor x) { return net.head(x); },
          net.cache(batch * options.beams, std::min(options.max_new_tokens + 1, net.options().context))) {}

PaddedSources pad_sources(const std::vector<std::vector<std::int64_t>>& sources, std::int64_t batch, std::int64_t width,
                          std::int64_t copies) {
  const auto count = static_cast<std::int64_t>(sources.size());
  if (count < 1 || count > batch)
    ops::refuse("TranslationGenerator", std::to_string(count) + " sources", "1 to " + std::to_string(batch), {});
  std::vector<std::int64_t> tokens, lengths;
  for (std::int64_t i = 0; i < batch; ++i) {
    const auto& source = sources[static_cast<std::size_t>(std::min(i, count - 1))];
    const auto length = static_cast<std::int64_t>(source.size());
    if (length < 1 || length > width)
      ops::refuse("TranslationGenerator", "a source of " + std::to_string(length) + " tokens", "1 to " + std::to_string(width), {});
    lengths.insert(lengths.end(), static_cast<std::size_t>(copies), length);
    tokens.insert(tokens.end(), source.begin(), source.end());
    tokens.resize(static_cast<std::size_t>((i + 1) * width), 0);
  }
  return {tensor(tokens, {batch, width}), tensor(lengths, {batch * copies})};
}

std::vector<Generated> TranslationGenerator::operator()(const std::vector<std::vector<std::int64_t>>& sources) {
  const PaddedSources padded = pad_sources(sources, batch_, width_, options_.beams);
  *lengths_ = padded.lengths;
  const Tensor memory = net_->encode(padded.tokens, slice(padded.lengths, 0, {.step = options_.beams}));
  *memory_ = repeat_interleave(memory, options_.beams, 0);
  const std::vector<std::vector<std::int64_t>> prompts(static_cast<std::size_t>(batch_), {options_.begin});
  std::vector<Generated> out = generator_(prompts, {.max_new_tokens = options_.max_new_tokens,
                                                    .stop_tokens = {options_.end},
                                                    .beams = options_.beams,
                                                    .length_penalty = options_.length_penalty});
  out.resize(sources.size());
  return out;
}

}  // namespace tegula::models
