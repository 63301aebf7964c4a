#include "tegula/models/text/beam.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

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
    } else if (static_cast<std::int64_t>(rank) < count_) {  // an ending sequence must be among the best, too
      ended_.push_back({from.tokens, normalized(c.score, from.tokens.size() + 1), true});
    }
  }
  // A vocabulary smaller than the beams: the missing candidates have no chance.
  while (static_cast<std::int64_t>(next.size()) < count_) {
    next.push_back(next.empty() ? Beam{{tokens[0]}, 0, 0} : next.back());
    next.back().score = -std::numeric_limits<double>::infinity();
  }
  beams_ = std::move(next);
  std::ranges::stable_sort(ended_, std::greater(), &Generated::score);
  if (static_cast<std::int64_t>(ended_.size()) > count_) ended_.resize(static_cast<std::size_t>(count_));
  done_ = static_cast<std::int64_t>(ended_.size()) == count_ &&
          (count_ == 1 || ended_.back().score >= normalized(beams_[0].score, beams_[0].tokens.size()));
}

Generated BeamSearch::best() const {
  if (done_) return ended_[0];
  const Generated going{beams_[0].tokens, normalized(beams_[0].score, beams_[0].tokens.size()), false};
  return !ended_.empty() && ended_[0].score >= going.score ? ended_[0] : going;
}

std::vector<Generated> search_beams(
    std::vector<BeamSearch> searches, std::int64_t most, Candidates best,
    const std::function<Candidates(const std::vector<std::int64_t>& tokens, const std::vector<std::int64_t>& order)>& step) {
  for (std::int64_t length = 1; length <= most; ++length) {
    const auto values = best.values.to_host<float>();  // (rows, n)
    const auto tokens = best.tokens.to_host<std::int64_t>();
    const std::size_t each = values.size() / searches.size();
    std::vector<std::int64_t> next, order;
    std::int64_t first_row = 0;
    bool any = false;
    for (std::size_t i = 0; i < searches.size(); ++i) {
      searches[i].extend(std::span(values).subspan(i * each, each), std::span(tokens).subspan(i * each, each));
      any = any || !searches[i].done();
      const auto& beams = searches[i].beams();
      for (const BeamSearch::Beam& beam : beams) {
        next.push_back(beam.tokens.back());
        order.push_back(first_row + beam.from);
      }
      first_row += static_cast<std::int64_t>(beams.size());
    }
    if (!any || length == most) break;
    best = step(next, order);
  }
  std::vector<Generated> out;
  for (const BeamSearch& search : searches) out.push_back(search.best());
  return out;
}

Candidates best_candidates(const Tensor& scores, std::int64_t wanted) {
  const Tensor x = log_softmax(cast(scores, f32), 1);
  const std::int64_t rows = x.size(0), vocabulary = x.size(1), count = std::min(wanted, vocabulary);
  constexpr std::int64_t kGroup = 64;
  const std::int64_t groups = (vocabulary + kGroup - 1) / kGroup;
  if (4 * count > groups) {
    const auto [values, tokens] = topk(x, count, 1);
    return {values, tokens};
  }
  // topk sorts its whole input, and a vocabulary is long. The best tokens are in the groups with the best maxima.
  const std::vector<PadWidth> widths{{}, {.high = groups * kGroup - vocabulary}};
  const Tensor grouped = reshape(pad(x, widths, {.value = -std::numeric_limits<double>::infinity()}), {rows, groups, kGroup});
  const Tensor best = unsqueeze(topk(max(grouped, 2), count, 1).indices, 2);  // (rows, count, 1)
  const Shape some{rows, count, kGroup}, flat{rows, count * kGroup};
  const auto [values, places] = topk(reshape(gather(grouped, 1, expand(best, some)), flat), count, 1);
  const Tensor tokens = gather(reshape(best * kGroup + iota(some, 2), flat), 1, places);
  return {values, where(tokens < vocabulary, tokens, vocabulary - 1)};  // padding has no chance, but needs a valid number
}

}  // namespace tegula::models
