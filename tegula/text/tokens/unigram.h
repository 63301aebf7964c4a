#pragma once
// Unigram language model (Kudo, "Subword regularization", ACL 2018): SentencePiece's other model.

#include <vector>

#include "tegula/text/tokens/model.h"

namespace tegula::text {

struct UnigramOptions {
  std::optional<Id> unknown = {};  // for characters that no token covers
  bool byte_fallback = false;      // these become their bytes, tokens "<0x0A>"
};

/// The tokens of the highest sum of scores (log probabilities) that spell the piece, found by Viterbi's algorithm.
class Unigram final : public TokenModel {
 public:
  /// `usable`: tokens that text may become; the others are control tokens. Throws Error unless there is a score and a mark for each token, and
  /// when the unknown token is not in the vocabulary.
  Unigram(Vocabulary vocabulary, std::vector<double> scores, const std::vector<bool>& usable, UnigramOptions options = {});
  void encode(std::string_view piece, Ids& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  std::vector<double> scores_;
  std::vector<bool> usable_;
  UnigramOptions options_;
  std::vector<Id> of_byte_;
  double unknown_score_ = 0;
  std::size_t longest_ = 0;  // bytes of a token
};

}  // namespace tegula::text
