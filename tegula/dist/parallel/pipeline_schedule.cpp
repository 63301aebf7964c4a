#include "tegula/dist/parallel/pipeline_schedule.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>

#include "tegula/core/error.h"

namespace tegula::dist {
namespace {

using Works = std::vector<PipelineWork>;

/// The forward (backward) passes of a rank: as many micro-batches as there are ranks go through its first (last) stage, then through the next one.
Works passes(bool backward, int rank, int ranks, int micro_batches, int stages_per_rank) {
  Works out;
  for (int first = 0; first < micro_batches; first += ranks) {
    for (int k = 0; k < stages_per_rank; ++k) {
      const int chunk = backward ? stages_per_rank - 1 - k : k;
      for (int m = first; m < std::min(first + ranks, micro_batches); ++m) out.push_back({backward, m, chunk * ranks + rank});
    }
  }
  return out;
}

/// The work of a rank, in order: some forward passes, then forward and backward in turn, then the remaining backward passes.
Works order_of(PipelineOrder order, int rank, int ranks, int micro_batches, int stages_per_rank) {
  const Works forward = passes(false, rank, ranks, micro_batches, stages_per_rank),
              backward = passes(true, rank, ranks, micro_batches, stages_per_rank);
  const int all = static_cast<int>(forward.size());
  const int ahead = order == PipelineOrder::GPipe ? all
                    : stages_per_rank == 1        ? ranks - rank - 1
                                                  : (ranks - rank - 1) * 2 + (stages_per_rank - 1) * ranks;
  const int warm_up = std::min(all, ahead);
  Works out(forward.begin(), forward.begin() + warm_up);
  for (int i = 0; i < all; ++i) {
    if (warm_up + i < all) out.push_back(forward[static_cast<std::size_t>(warm_up + i)]);
    out.push_back(backward[static_cast<std::size_t>(i)]);
  }
  return out;
}

using Key = std::tuple<bool, int, int>;
Key key(const PipelineWork& work) { return {work.backward, work.micro_batch, work.stage}; }

/// The work that this one waits for, if any.
std::optional<PipelineWork> before(const PipelineWork& work, int stages) {
  if (work.backward) {
    return work.stage == stages - 1 ? PipelineWork{false, work.micro_batch, work.stage}
                                    : PipelineWork{true, work.micro_batch, work.stage + 1};
  }
  if (work.stage == 0) return {};
  return PipelineWork{false, work.micro_batch, work.stage - 1};
}

/// The stage that goes on with the work's result, if any.
std::optional<int> next_stage(const PipelineWork& work, int stages) {
  const int next = work.backward ? work.stage - 1 : work.stage + 1;
  if (next < 0 || next >= stages) return {};
  return next;
}

}  // namespace

std::string_view name(PipelineOrder order) {
  return order == PipelineOrder::GPipe ? "GPipe" : order == PipelineOrder::OneForwardOneBackward ? "1F1B" : "interleaved 1F1B";
}

PipelineSchedule::PipelineSchedule(PipelineOrder order, int ranks, int micro_batches, int stages_per_rank, Line where)
    : order_(order),
      micro_batches_(micro_batches),
      stages_per_rank_(stages_per_rank) {
  const bool several = stages_per_rank > 1;
  if (ranks < 1 || micro_batches < 1 || stages_per_rank < 1 ||
      (several && (order != PipelineOrder::Interleaved || micro_batches % ranks != 0))) {
    throw Error(
        {.op = "pipeline",
         .got = std::string(name(order)) + " of " + std::to_string(micro_batches) + " micro-batches on " + std::to_string(ranks) +
                " ranks, " + std::to_string(stages_per_rank) + " stages each",
         .expected =
             "at least one of each; several stages a rank only with PipelineOrder::Interleaved and micro-batches that the ranks divide",
         .where = where});
  }
  table_.resize(static_cast<std::size_t>(ranks));
  std::vector<Works> order_by_rank;
  std::size_t left = 0;
  for (int r = 0; r < ranks; ++r) {
    order_by_rank.push_back(order_of(order, r, ranks, micro_batches, stages_per_rank));
    left += order_by_rank.back().size();
  }
  std::vector<std::size_t> next(static_cast<std::size_t>(ranks));
  std::set<Key> done;
  while (left > 0) {  // a tick
    std::vector<Key> finished;
    for (std::size_t r = 0; r < table_.size(); ++r) {
      table_[r].emplace_back();
      if (next[r] == order_by_rank[r].size()) continue;
      const PipelineWork& work = order_by_rank[r][next[r]];
      const auto waits_for = before(work, stages());
      if (waits_for && !done.contains(key(*waits_for))) continue;
      table_[r].back() = work;
      finished.push_back(key(work));
      ++next[r], --left;
    }
    done.insert(finished.begin(), finished.end());
  }
}

const std::optional<PipelineWork>& PipelineSchedule::at(int rank, int tick) const {
  return table_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(tick)];
}

std::vector<PipelineAction> PipelineSchedule::actions(int rank) const {
  using enum PipelineAction::Kind;
  std::vector<PipelineAction> out;
  for (int tick = 0; tick < ticks(); ++tick) {
    if (const auto& work = at(rank, tick)) out.push_back({Compute, *work, rank});
    // Forward before backward, and neighbours in turn: half of the ranks send while the others receive.
    for (const bool backward : {false, true}) {
      for (const int parity : {0, 1}) {
        for (int from = parity; from < ranks(); from += 2) {
          const auto& work = at(from, tick);
          const auto next = work && work->backward == backward ? next_stage(*work, stages()) : std::nullopt;
          if (!next || owner(*next) == from) continue;
          if (from == rank) out.push_back({Send, *work, owner(*next)});
          else if (owner(*next) == rank) out.push_back({Receive, *work, from});
        }
      }
    }
  }
  return out;
}

int PipelineSchedule::kept(int rank) const {
  int now = 0, most = 0;
  for (int tick = 0; tick < ticks(); ++tick) {
    if (const auto& work = at(rank, tick)) most = std::max(most, now += work->backward ? -1 : 1);
  }
  return most;
}

double PipelineSchedule::bubble() const {
  const int busy = 2 * micro_batches_ * stages_per_rank_;
  return static_cast<double>(ticks() - busy) / ticks();
}

double PipelineSchedule::bubble_by_formula() const {
  const int waits = ranks() - 1;
  return static_cast<double>(waits) / (stages_per_rank_ * micro_batches_ + waits);
}

std::string PipelineSchedule::text() const {
  char head[160];
  std::snprintf(head, sizeof head, ": %d micro-batches through %d stages on %d ranks, %d ticks, bubble %.1f %%\n", micro_batches_, stages(),
                ranks(), ticks(), 100 * bubble());
  std::string out = std::string(name(order_)) + head;
  const auto cell = [&](const std::optional<PipelineWork>& work) {
    if (!work) return std::string(".");
    const std::string text = (work->backward ? "B" : "F") + std::to_string(work->micro_batch);
    return stages_per_rank_ == 1 ? text : text + "." + std::to_string(work->stage);
  };
  std::size_t width = 0;
  for (const auto& row : table_) {
    for (const auto& work : row) width = std::max(width, cell(work).size());
  }
  for (int r = 0; r < ranks(); ++r) {
    out += "rank " + std::to_string(r) + " |";
    for (int tick = 0; tick < ticks(); ++tick) {
      const std::string text = cell(at(r, tick));
      out += " " + text + (tick + 1 < ticks() ? std::string(width - text.size(), ' ') : "");
    }
    out += "\n";
  }
  return out;
}

}  // namespace tegula::dist
