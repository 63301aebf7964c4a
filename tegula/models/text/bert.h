#pragma once
// BERT: an encoder that sees both sides (Devlin et al., 2019), with its two heads. Parameters have Hugging Face's names
// ("bert.encoder.layer.0.attention.self.query.weight", "cls.predictions.transform.dense.weight", "classifier.weight").

#include <optional>
#include <string_view>
#include <vector>

#include "tegula/models/model_file.h"
#include "tegula/nn/dropout.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/state.h"

namespace tegula::models {

struct BertOptions {
  std::int64_t vocabulary = 30522;
  std::int64_t width = 768, layers = 12, heads = 12, hidden = 3072;  // BERT-base: 110 M parameters
  std::int64_t context = 512;
  std::int64_t types = 2;  // number of segments
  double dropout = 0.1;
  double norm_eps = 1e-12;
  DType dtype = f32;
};

/// Optional inputs beside the tokens (B, T).
struct BertInput {
  Tensor lengths = {};     // (B) integers: how many tokens of each sequence there are; the others are padding
  Tensor token_types = {};  // (B, T) integers: 0 or 1, the segment; 0
};

namespace bert {

struct Embeddings {
  explicit Embeddings(const BertOptions& options);
  Tensor operator()(Tensor tokens, Tensor types) const;
  nn::Embedding word_embeddings, position_embeddings, token_type_embeddings;
  nn::LayerNorm LayerNorm;
  nn::Dropout dropout;
  static constexpr auto fields = nn::fields<&Embeddings::word_embeddings, &Embeddings::position_embeddings,
                                            &Embeddings::token_type_embeddings, &Embeddings::LayerNorm, &Embeddings::dropout>;
};

struct SelfAttention {
  explicit SelfAttention(const BertOptions& options);
  Tensor operator()(Tensor x, Tensor lengths) const;
  nn::Linear query, key, value;
  nn::Dropout dropout;
  static constexpr auto fields = nn::fields<&SelfAttention::query, &SelfAttention::key, &SelfAttention::value, &SelfAttention::dropout>;

 private:
  std::int64_t heads_;
};

/// norm(x + dropped(dense(y))).
struct Output {
  Output(std::int64_t in, const BertOptions& options);
  Tensor operator()(Tensor y, Tensor x) const;
  nn::Linear dense;
  nn::LayerNorm LayerNorm;
  nn::Dropout dropout;
  static constexpr auto fields = nn::fields<&Output::dense, &Output::LayerNorm, &Output::dropout>;
};

struct Attention {
  explicit Attention(const BertOptions& options);
  SelfAttention self;
  Output output;
  static constexpr auto fields = nn::fields<&Attention::self, &Attention::output>;
};

struct Intermediate {
  explicit Intermediate(const BertOptions& options);
  nn::Linear dense;
  static constexpr auto fields = nn::fields<&Intermediate::dense>;
};

struct Layer {
  explicit Layer(const BertOptions& options);
  Tensor operator()(Tensor x, Tensor lengths) const;
  Attention attention;
  Intermediate intermediate;
  Output output;
  static constexpr auto fields = nn::fields<&Layer::attention, &Layer::intermediate, &Layer::output>;
};

struct Encoder {
  std::vector<Layer> layer;
  static constexpr auto fields = nn::fields<&Encoder::layer>;
};

struct Pooler {
  explicit Pooler(const BertOptions& options);
  nn::Linear dense;
  static constexpr auto fields = nn::fields<&Pooler::dense>;
};

struct Transform {
  explicit Transform(const BertOptions& options);
  nn::Linear dense;
  nn::LayerNorm LayerNorm;
  static constexpr auto fields = nn::fields<&Transform::dense, &Transform::LayerNorm>;
};

struct Predictions {
  explicit Predictions(const BertOptions& options);
  Transform transform;
  Variable bias;  // (vocabulary)
  static constexpr auto fields = nn::fields<&Predictions::transform, &Predictions::bias>;
};

struct MlmHead {
  explicit MlmHead(const BertOptions& options) : predictions(options) {}
  Predictions predictions;
  static constexpr auto fields = nn::fields<&MlmHead::predictions>;
};

}  // namespace bert

/// tokens (B, T), integers -> features (B, T, width).
class Bert {
 public:
  /// A pooler makes (B, width) of the first token's features: tanh of a layer of its own.
  enum class Pooling : bool { No, Yes };
  explicit Bert(const BertOptions& options = {}, Pooling pooling = Pooling::Yes);
  Tensor operator()(Arg tokens, const BertInput& input = {}) const;
  Tensor pooled(Arg features) const;
  const BertOptions& options() const { return options_; }

  bert::Embeddings embeddings;
  bert::Encoder encoder;
  std::optional<bert::Pooler> pooler;
  static constexpr auto fields = nn::fields<&Bert::embeddings, &Bert::encoder, &Bert::pooler>;

 private:
  BertOptions options_;
};

/// Scores (B, T, vocabulary) of the token at each position, by the embedding's weight: for texts of which tokens were masked.
class BertForMaskedLM {
 public:
  explicit BertForMaskedLM(const BertOptions& options = {});
  Tensor operator()(Arg tokens, const BertInput& input = {}) const { return head(features(tokens, input)); }
  /// (B, T, width) behind the head's own layer, whose product with the embedding's weight are the scores without their bias.
  Tensor features(Arg tokens, const BertInput& input = {}) const;
  Tensor head(Arg features) const;
  /// Scores (B, P, vocabulary) of the positions (B, P) alone: what pre-training needs.
  Tensor at(Arg tokens, Arg places, const BertInput& input = {}) const;

  Bert bert;
  bert::MlmHead cls;
  static constexpr auto fields = nn::fields<&BertForMaskedLM::bert, &BertForMaskedLM::cls>;
};

/// Scores (B, classes) of whole sequences.
class BertForSequenceClassification {
 public:
  explicit BertForSequenceClassification(const BertOptions& options = {}, std::int64_t classes = 2);
  Tensor operator()(Arg tokens, const BertInput& input = {}) const;

  Bert bert;
  nn::Dropout dropout;
  nn::Linear classifier;
  static constexpr auto fields =
      nn::fields<&BertForSequenceClassification::bert, &BertForSequenceClassification::dropout, &BertForSequenceClassification::classifier>;
};

/// The names as these models have them: the encoder's with `prefix` before them, with or without "bert." in the file; norms' "gamma" and "beta", as the first
/// published files have them, become weight and bias. Dropped: positions that old files hold ("embeddings.position_ids"), the tied "cls.predictions.decoder", the next
/// sentence's head; for a Bert by itself (an empty prefix) heads, too. Strict::No skips entries that a model does not have, such as the pooler.
StateDict bert_state(const StateDict& hugging_face, std::string_view prefix = "bert.");

/// Segments of framed pairs of texts (B, T), [CLS] first [SEP] second [SEP]: 1 behind the first `separator`, else 0.
Tensor pair_types(Arg tokens, std::int64_t separator);

/// Kinds of models in files.
inline constexpr const char *kBertMaskedKind = "bert-masked-lm", *kBertClassifierKind = "bert-classifier";
/// A BERT's options as a file's description, and back. Throws Error, naming `path`, for invalid options.
ModelDescription describe(const BertOptions& options, std::string kind);
BertOptions bert_options(const ModelDescription& description, const std::string& path);

}  // namespace tegula::models
