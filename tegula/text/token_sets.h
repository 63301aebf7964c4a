#pragma once
// Token numbers as data sets: sequences that belong together (translation), sequences of a class, and sequences with holes (BERT).

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/data/random_stream.h"
#include "tegula/text/vocabulary.h"

namespace tegula::text {

/// The least width of the ladder 8, 12, 16, 24, 32, 48, … that holds `length`: batches have few shapes, so that few programs are compiled.
std::int64_t ladder_width(std::int64_t length);

/// A data set (data::Dataset) of sources and targets. A batch is: source (N, W) with zeros behind; target (N, W), `begin` in front; the lengths of the sources (N); and
/// the tokens after each position of the target (N, W), which ends with `end`, then 0. W is the ladder's width for the longest of them. 0 is for padding.
class TokenPairs {
 public:
  /// Throws Error for different numbers of sources and targets, an empty source, and a token below 1.
  TokenPairs(std::vector<Ids> sources, std::vector<Ids> targets, Id begin, Id end);

  std::int64_t size() const { return static_cast<std::int64_t>(sources_.size()); }
  std::vector<HostArray> get(std::int64_t row) const;  // as a batch of one, without its axis
  std::vector<HostArray> gather(std::span<const std::int64_t> rows) const;
  /// The longer side of each pair, with begin or end; batches of similar lengths are made by these (data::LoaderOptions::lengths).
  const std::vector<std::int64_t>& lengths() const { return lengths_; }
  const std::vector<Ids>& sources() const { return sources_; }
  /// The shortest pairs first.
  TokenPairs sorted() const;

 private:
  std::vector<Ids> sources_, targets_;
  Id begin_, end_;
  std::vector<std::int64_t> lengths_;
};

/// A data set of sequences that have a class. A batch is: tokens (N, W) with zeros behind, their lengths (N), and the classes (N). W as above.
class LabelledTokens {
 public:
  /// Throws Error for different numbers of sequences and classes, and an empty sequence.
  LabelledTokens(std::vector<Ids> sequences, std::vector<std::int64_t> classes);
  std::int64_t size() const { return static_cast<std::int64_t>(sequences_.size()); }
  std::vector<HostArray> get(std::int64_t row) const;
  std::vector<HostArray> gather(std::span<const std::int64_t> rows) const;
  const std::vector<std::int64_t>& lengths() const { return lengths_; }
  LabelledTokens sorted() const;  // the shortest first

 private:
  std::vector<Ids> sequences_;
  std::vector<std::int64_t> classes_, lengths_;
};

struct MaskedTokensOptions {
  std::int64_t length = 128;  // of a sample, with its frame
  Id first = 2, end = 3;  // the frame: [CLS] and [SEP]
  Id mask = 4;  // [MASK]
  Id vocabulary = 0;  // tokens by which others are replaced are below it, and not below `ordinary`
  Id ordinary = 5;  // the special tokens are below it
  double share = 0.15;  // share of the tokens that are to be guessed
};
/// A data set of pieces of one long text for BERT's first task (Devlin et al., 2019): a share of each piece's tokens is to be guessed, of which 80 % are
/// masked, 10 % are another token, and 10 % stay; chosen anew each epoch. A sample is: tokens (length), positions (P) in increasing order, and the original
/// tokens there (P), P the share of length - 2, at least 1. A rest after the last whole piece is left out.
class MaskedTokens {
 public:
  /// Throws Error for options that make no sense, and a text that is too short for one piece.
  MaskedTokens(Ids text, const MaskedTokensOptions& options);
  std::int64_t size() const;
  std::vector<HostArray> get(std::int64_t row, data::RandomStream& random) const;
  std::int64_t guessed() const { return guessed_; }  // P

 private:
  Ids text_;
  MaskedTokensOptions options_;
  std::int64_t guessed_;
};

}  // namespace tegula::text
