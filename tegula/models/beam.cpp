#include "tegula/models/beam.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula::models {

BeamSearch::BeamSearch(std::int64_t beams, double length_penalty, std::vector<std::int64_t> stop_tokens)
    : count_(beams),
      penalty_(length_penalty),
      stops_(std::move(stop_tokens)),
      beams_(static_cast<std::size_t>(beams)) {}

double BeamSearch::normalized(double score, std::size_t length) const {
  return score / std::pow(static_cast<double>(std::max<std::size_t>(length, 1)), penalty_);
}

void BeamSearch::extend(std::span<const float> values, std::span<const std::int64_t> tokens) {
  if (done_) return;
  struct Candidate {
    std::size_t beam, place;
    double score;
  };
  const std::size_t each = values.size() / beams_.size();
  const std::size_t alive = beams_[0].tokens.empty() ? 1 : beams_.size();
  std::vector<Candidate> all;
  for (std::size_t b = 0; b < alive; ++b) {
    for (std::size_t i = b * each; i < (b + 1) * each; ++i) all.push_back({b, i, beams_[b].score + static_cast<double>(values[i])});
  }
  std::ranges::stable_sort(all, std::greater(), &Candidate::score);
  std::vector<Beam> next;
  for (std::size_t rank = 0; rank < all.size() && static_cast<std::int64_t>(next.size()) < count_; ++rank) {
    const Candidate& c = all[rank];
    const Beam& from = beams_[c.beam];
    const bool ends = std::ranges::find(stops_, tokens[c.place]) != stops_.end();
    if (!ends) {
      next.push_back({from.tokens, c.score, static_cast<std::int64_t>(c.beam)});
      next.back().tokens.push_back(tokens[c.place]);
    } else if (static_cast<std::int64_t>(rank) < count_) {  // what ends has to be among the best, too
      ended_.push_back({from.tokens, normalized(c.score, from.tokens.size() + 1), true});
    }
  }
  // A vocabulary smaller than the beams: what is missing has no chance.
  while (static_cast<std::int64_t>(next.size()) < count_) {
    next.push_back(next.empty() ? Beam{{tokens[0]}, 0, 0} : next.back());
    next.back().score = -std::numeric_limits<double>::infinity();
  }
  beams_ = std::move(next);
  std::ranges::stable_sort(ended_, std::greater(), &Generated::score);
  if (static_cast<std::int64_t>(ended_.size()) > count_) ended_.resize(static_cast<std::size_t>(count_));
  done_ = static_cast<std::int64_t>(ended_.size()) == count_ && ended_.back().score >= normalized(beams_[0].score, beams_[0].tokens.size());
}

Generated BeamSearch::best() const {
  if (done_) return ended_[0];
  const Generated going{beams_[0].tokens, normalized(beams_[0].score, beams_[0].tokens.size()), false};
  return !ended_.empty() && ended_[0].score >= going.score ? ended_[0] : going;
}

}  // namespace tegula::models
