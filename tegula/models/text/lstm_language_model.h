#pragma once
// A language model of LSTM layers, as character models are (Graves, "Generating sequences with recurrent neural networks", 2013; Karpathy's char-rnn).

#include <memory>
#include <vector>

#include "tegula/dist/exchange/group.h"
#include "tegula/models/text/generate.h"
#include "tegula/nn/dropout.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/sequences/recurrent.h"

namespace tegula::models {

struct LstmLanguageModelOptions {
  std::int64_t vocabulary = 65;
  std::int64_t embedding = 64;  // features of a token
  std::int64_t hidden = 256;
  std::int64_t layers = 2;
  double dropout = 0;  // of embeddings and of each layer's output
  DType dtype = f32;
};

/// tokens (B, T), integers -> scores (B, T, vocabulary) of the token behind each.
class LstmLanguageModel {
 public:
  explicit LstmLanguageModel(const LstmLanguageModelOptions& options = {});
  Tensor operator()(Arg tokens) const { return head(hidden(tokens).output); }
  /// output (B, T, hidden), the features for the scores; and the states (layers, B, hidden) after the last step, to continue from.
  nn::Recurrent hidden(Arg tokens, const nn::RecurrentState& state = {}) const;
  /// (…, hidden) -> (…, vocabulary).
  Tensor head(Arg x) const;
  const LstmLanguageModelOptions& options() const { return options_; }

  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::Dropout dropout;
  nn::Linear output;
  static constexpr auto fields =
      nn::fields<&LstmLanguageModel::embedding, &LstmLanguageModel::lstm, &LstmLanguageModel::dropout, &LstmLanguageModel::output>;

 private:
  LstmLanguageModelOptions options_;
};

/// The model for training on streams (text::Streams): states are carried from batch to batch, gradients are not (truncated backpropagation through time,
/// Williams and Peng, 1990). Batches have `batch` streams, and `eval_batch` in evaluation, which has states of its own. Holds a reference to the model.
/// `ranks` that train together have a part of the streams each, whose numbers they divide; a checkpoint has the states of all.
class CarriedLstm {
 public:
  CarriedLstm(const LstmLanguageModel& net, std::int64_t batch, std::int64_t eval_batch, const dist::Group& ranks = {});
  /// tokens (B, T), begins (B) floats, 1 where a stream begins and the carried state is forgotten -> (B, T, hidden).
  Tensor operator()(Tensor tokens, Tensor begins);
  void visit(nn::Visitor& visitor, const nn::Path& path);

 private:
  const LstmLanguageModel* net_;
  nn::Buffer h_, c_;  // (layers, batch, hidden); part of a checkpoint, not of the model
  nn::NonPersistentBuffer eval_h_, eval_c_;
  Flag training_{1};
};

/// Generates with such a model, compiled once: one executable for tokens, another for each width of prompts (powers of two). The model must outlive it.
class LstmGenerator {
 public:
  explicit LstmGenerator(const LstmLanguageModel& net, std::int64_t batch = 1);
  ~LstmGenerator();
  LstmGenerator(LstmGenerator&&) noexcept;
  LstmGenerator& operator=(LstmGenerator&&) noexcept;

  /// Generates as models::TextGenerator does; no cache could be full. Refuses beams.
  std::vector<Generated> operator()(const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& options = {});
  Generated operator()(const std::vector<std::int64_t>& prompt, const GenerateOptions& options = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tegula::models
