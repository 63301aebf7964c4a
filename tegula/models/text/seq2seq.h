#pragma once
// Translation with recurrent nets: an LSTM reads the source in both directions, another writes the target and looks at the source at each step (Bahdanau
// et al., "Neural machine translation by jointly learning to align and translate", 2015; Luong et al., "Effective approaches to attention-based
// neural machine translation", 2015).

#include <memory>
#include <optional>
#include <vector>

#include "tegula/models/text/transformer.h"
#include "tegula/nn/sequences/attention.h"
#include "tegula/nn/sequences/recurrent.h"

namespace tegula::models {

/// The score of a decoder's state and an annotation. Additive asks with the state before the step, and the context is an input of the step
/// (Bahdanau); General and Dot ask with the state after it, and the combination of state and context is an input of the next step (Luong's input feeding).
enum class Alignment : std::uint8_t { Additive, General, Dot };

struct Seq2SeqOptions {
  std::int64_t source_vocabulary = 8000, target_vocabulary = 8000;
  std::int64_t embedding = 256;  // features of a word, and of the input of the scores
  std::int64_t hidden = 256;  // width of each direction of the encoder, and of the decoder
  std::int64_t layers = 1;  // of both
  double dropout = 0.2;  // of embeddings, between layers, and before the scores
  Alignment alignment = Alignment::Additive;
  Tied tied = Tied::Target;
  DType dtype = f32;
};

/// source (N, S) and target (N, T), integers -> scores (N, T, target_vocabulary): for each position of the target, of the token that follows it. Encoder and
/// decoder are loops (`scan`): one plan for all steps, a gradient that is linear in their number.
class Seq2Seq {
 public:
  explicit Seq2Seq(const Seq2SeqOptions& options = {});
  /// lengths (N): how many tokens of each source there are; all, without them. An Error when it is run and they are outside [0, S].
  Tensor operator()(Arg source, Arg target, const Tensor& lengths = {}) const;

  struct Encoded {
    Tensor annotations;  // (N, S, 2 hidden): the states of both directions
    Tensor keys;  // (N, S, features): their part of the scores
    std::vector<Tensor> state;  // the decoder's initial state: h and c (N, hidden) of each layer; the fed features, (N, embedding)
  };
  Encoded encode(Arg source, const Tensor& lengths = {}) const;

  struct Decoded {
    Tensor features;  // (N, T, embedding): the features for the scores
    Tensor weights;  // (N, T, S): the attention of each step
    std::vector<Tensor> state;  // behind the last step
  };
  /// Goes on from `from.state`.
  Decoded decode(Arg target, const Encoded& from, const Tensor& lengths = {}) const;
  Tensor head(Arg features) const;
  /// The weights that Transformer::attention gives: (N, T, S).
  Tensor attention(Arg source, Arg target, const Tensor& lengths = {}) const {
    return decode(target, encode(source, lengths), lengths).weights;
  }
  const Seq2SeqOptions& options() const { return options_; }

  std::optional<nn::Embedding> source_embedding;  // empty: the target's
  nn::Embedding target_embedding;
  nn::Dropout dropout;
  nn::LSTM encoder;
  nn::Linear bridge_h, bridge_c;  // the encoder's last states become the decoder's first
  std::optional<nn::AdditiveAttention>
      additive;  // the one of `alignment`; Dot has a projection of the annotations to the decoder's features
  std::optional<nn::GeneralAttention> general;
  std::vector<nn::LSTMCell> decoder;
  nn::Linear combine;  // state, context and, without feeding, the word -> embedding
  std::optional<nn::Linear> generator;  // empty: tied
  static constexpr auto fields =
      nn::fields<&Seq2Seq::source_embedding, &Seq2Seq::target_embedding, &Seq2Seq::dropout, &Seq2Seq::encoder, &Seq2Seq::bridge_h,
                 &Seq2Seq::bridge_c, &Seq2Seq::additive, &Seq2Seq::general, &Seq2Seq::decoder, &Seq2Seq::combine, &Seq2Seq::generator>;

 private:
  bool feeds() const { return options_.alignment != Alignment::Additive; }
  nn::AttendedSequence attend(const Tensor& query, const Encoded& from, const Tensor& lengths) const;
  Seq2SeqOptions options_;
};

/// A TranslationGenerator for a Seq2Seq.
class Seq2SeqGenerator {
 public:
  Seq2SeqGenerator(const Seq2Seq& net, std::int64_t batch, std::int64_t source_width, const TranslateOptions& options = {});
  ~Seq2SeqGenerator();
  Seq2SeqGenerator(Seq2SeqGenerator&&) noexcept;
  Seq2SeqGenerator& operator=(Seq2SeqGenerator&&) noexcept;
  std::vector<Generated> operator()(const std::vector<std::vector<std::int64_t>>& sources);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tegula::models
