#pragma once
// Classifiers of texts: an LSTM in both directions, a small transformer, or a BERT, in files with their tokenizer and the names of the classes.

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tegula/io/safetensors.h"
#include "tegula/models/text/bert.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/sequences/recurrent.h"
#include "tegula/nn/sequences/transformer.h"
#include "tegula/text/tokens/tokenizer.h"

namespace tegula::models {

struct LstmClassifierOptions {
  std::int64_t vocabulary = 10000, classes = 2;
  std::int64_t embedding = 100, hidden = 128, layers = 1;
  bool bidirectional = true;
  double dropout = 0.5;  // of embeddings, between layers, and of the classes' features
};

/// tokens (N, T) and lengths (N), integers -> scores (N, classes), from the last layer's states behind the last token (and, in the other direction, the first).
class LstmClassifier {
 public:
  explicit LstmClassifier(const LstmClassifierOptions& options = {});
  Tensor operator()(Tensor tokens, Tensor lengths) const;
  const LstmClassifierOptions& options() const { return options_; }

  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::Dropout dropout;
  nn::Linear output;
  static constexpr auto fields =
      nn::fields<&LstmClassifier::embedding, &LstmClassifier::lstm, &LstmClassifier::dropout, &LstmClassifier::output>;

 private:
  LstmClassifierOptions options_;
};

struct TransformerClassifierOptions {
  std::int64_t vocabulary = 10000, classes = 2;
  std::int64_t width = 128, heads = 4, hidden = 256, layers = 2;
  std::int64_t context = 256;  // the longest text
  double dropout = 0.3;
};

/// The same from the mean of an encoder's features over the tokens that are there (norms before attention and feed-forward, learned positions).
class TransformerClassifier {
 public:
  explicit TransformerClassifier(const TransformerClassifierOptions& options = {});
  Tensor operator()(Tensor tokens, Tensor lengths) const;
  const TransformerClassifierOptions& options() const { return options_; }

  nn::Embedding embedding, positions;
  nn::TransformerEncoder encoder;
  nn::Dropout dropout;
  nn::Linear output;
  static constexpr auto fields =
      nn::fields<&TransformerClassifier::embedding, &TransformerClassifier::positions, &TransformerClassifier::encoder,
                 &TransformerClassifier::dropout, &TransformerClassifier::output>;

 private:
  TransformerClassifierOptions options_;
};

struct TextClassifier {
  std::variant<std::unique_ptr<LstmClassifier>, std::unique_ptr<TransformerClassifier>, std::unique_ptr<BertForSequenceClassification>> net;
  text::Tokenizer tokenizer;
  std::vector<std::string> classes;
  bool pairs = false;  // a BERT of pairs of texts: each text is two with a tab between them

  std::int64_t longest() const;  // tokens of a text that it looks at
  /// The probability of each class for each text, (N, classes) f32.
  Tensor probabilities(const std::vector<std::string>& texts) const;
};

void save_text_classifier(const std::string& path, const LstmClassifier& net, const std::string& tokenizer_json,
                          const std::vector<std::string>& classes);
void save_text_classifier(const std::string& path, const TransformerClassifier& net, const std::string& tokenizer_json,
                          const std::vector<std::string>& classes);
/// A BERT that saves its description with its texts "tokenizer" and "classes" (tegula train bert --classify) is read, too. Throws Error when the file holds
/// another model, and when weights, tokenizer or classes do not fit.
TextClassifier load_text_classifier(const std::string& path);

}  // namespace tegula::models
