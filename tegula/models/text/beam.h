#pragma once
// Beam search over one sequence, on the host: what to keep of the candidates that a model gives for each beam.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tegula/models/text/generate.h"

namespace tegula::models {

/// The k best continuations at every length; ended ones are set aside. Ended ones and, at the end, the others count
/// log-probability / length^penalty. One beam is greedy search: it is done when it ends.
class BeamSearch {
 public:
  struct Beam {
    std::vector<std::int64_t> tokens;
    double score = 0;       // log-probability
    std::int64_t from = 0;  // the former beam that it continues
  };
  BeamSearch(std::int64_t beams, double length_penalty, std::vector<std::int64_t> stop_tokens);

  /// Candidates of each beam (beams, n), n >= 2 * beams or the whole vocabulary: log-probabilities, and the tokens. At first only those of the
  /// first beam count: the others are the same.
  void extend(std::span<const float> values, std::span<const std::int64_t> tokens);
  /// The beams, always k of them.
  const std::vector<Beam>& beams() const { return beams_; }
  /// True if no open sequence can become better than the ended ones.
  bool done() const { return done_; }
  Generated best() const;

 private:
  double normalized(double score, std::size_t length) const;

  std::int64_t count_;
  double penalty_;
  std::vector<std::int64_t> stops_;
  std::vector<Beam> beams_;
  std::vector<Generated> ended_;  // the best first, at most `count_`
  bool done_ = false;
};

/// The candidates after each row: log-probabilities (rows, n) and tokens, as BeamSearch::extend takes them.
struct Candidates {
  Tensor values, tokens;
};
/// Several searches side by side, each with `beams` rows: `first` follows the prompts, and `step` gives the next candidates after each row has become
/// the former row order[row], with token tokens[row] behind it. At most `most` tokens.
std::vector<Generated> search_beams(
    std::vector<BeamSearch> searches, std::int64_t most, Candidates first,
    const std::function<Candidates(const std::vector<std::int64_t>& tokens, const std::vector<std::int64_t>& order)>& step);
/// The best `count` tokens of scores (rows, vocabulary), or all there are.
Candidates best_candidates(const Tensor& scores, std::int64_t count);

}  // namespace tegula::models
