#pragma once
// The transformer for translation (Vaswani et al., 2017): an encoder of the source and a decoder of the target.

#include <memory>
#include <optional>
#include <vector>

#include "tegula/models/text/generate.h"
#include "tegula/nn/sequences/transformer.h"

namespace tegula::models {

/// The matrices that are one: none, the target's embedding and the scores', or the source's too (one vocabulary).
enum class Tied : std::uint8_t { None, Target, All };

struct TransformerOptions {
  std::int64_t source_vocabulary = 32000, target_vocabulary = 32000;
  std::int64_t width = 512, heads = 8, hidden = 2048;
  std::int64_t encoder_layers = 6, decoder_layers = 6;
  std::int64_t context = 512;  // the longest source or target
  double dropout = 0.1;
  bool norm_first = false;
  Tied tied = Tied::Target;
};

/// source (N, S) and target (N, T), integers -> scores (N, T, target_vocabulary): for each position of the target, of the token that follows it.
class Transformer {
 public:
  explicit Transformer(const TransformerOptions& options = {});
  /// lengths (N): how many tokens of each source there are; all, without them.
  Tensor operator()(Arg source, Arg target, const Tensor& lengths = {}) const;
  /// (N, S, width).
  Tensor encode(Arg source, const Tensor& lengths = {}) const;
  /// The features from which the scores are computed, (N, T, width); with a cache the target continues its tokens.
  Tensor hidden(Arg target, Arg memory, const Tensor& lengths = {}, nn::KeyValueCache* cache = nullptr) const;
  /// The attention of each target token over the source: (N, T, S), the mean over the heads of the last layer.
  Tensor attention(Arg source, Arg target, const Tensor& lengths = {}) const;
  Tensor head(Arg x) const;
  nn::KeyValueCache cache(std::int64_t batch, std::int64_t capacity = 0) const;
  const TransformerOptions& options() const { return options_; }

  std::optional<nn::Embedding> source_embedding;  // empty: the target's
  nn::Embedding target_embedding;
  nn::Dropout dropout;
  nn::TransformerEncoder encoder;
  nn::TransformerDecoder decoder;
  std::optional<nn::Linear> generator;  // empty: tied
  static constexpr auto fields = nn::fields<&Transformer::source_embedding, &Transformer::target_embedding, &Transformer::dropout,
                                            &Transformer::encoder, &Transformer::decoder, &Transformer::generator>;

 private:
  Tensor embedded(const nn::Embedding& table, const Tensor& tokens, const Tensor& places) const;
  TransformerOptions options_;
};

struct TranslateOptions {
  std::int64_t beams = 5;
  std::int64_t max_new_tokens = 128;
  double length_penalty = 1;
  std::int64_t begin = 1, end = 2;  // tokens that begin and end a target
  bool operator==(const TranslateOptions&) const = default;
};

/// Sources as one batch of (rows, width): each one `copies` times, and the last one again in place of missing ones.
struct PaddedSources {
  Tensor tokens;  // (batch, width)
  Tensor lengths;  // (batch * copies): each length `copies` times
};
/// Throws Error for more sources than `batch`, an empty one, and one that is longer than `width`.
PaddedSources pad_sources(const std::vector<std::vector<std::int64_t>>& sources, std::int64_t batch, std::int64_t width,
                          std::int64_t copies);

/// Translates batches of sources with a net that outlives it, compiled once: `batch` sources of at most `source_width` tokens.
class TranslationGenerator {
 public:
  TranslationGenerator(const Transformer& net, std::int64_t batch, std::int64_t source_width, const TranslateOptions& options = {});
  /// At most `batch` sources, none of them empty -> the best target of each, without begin and end.
  std::vector<Generated> operator()(const std::vector<std::vector<std::int64_t>>& sources);

 private:
  const Transformer* net_;
  std::int64_t batch_, width_;
  TranslateOptions options_;
  std::unique_ptr<Variable> memory_, lengths_;  // (batch * beams, width, features) and (batch * beams)
  TextGenerator generator_;
};

}  // namespace tegula::models
