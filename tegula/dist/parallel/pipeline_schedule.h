#pragma once
// The schedule of a pipeline: the stages of a network are on several ranks, and the micro-batches of a batch pass through them one after another.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/line.h"

namespace tegula::dist {

enum class PipelineOrder : std::uint8_t {
  GPipe,  // all forward, then all backward: keeps what every micro-batch left (Huang et al., "GPipe", 2019)
  OneForwardOneBackward,  // backward as soon as may be: keeps that of as many as there are stages (Narayanan et al., "PipeDream", 2019)
  Interleaved,  // the same with several stages a rank, which wait less (Narayanan et al., "Efficient large-scale language model training", 2021)
};
std::string_view name(PipelineOrder order);

/// The forward or backward pass of one micro-batch through one stage.
struct PipelineWork {
  bool backward = false;
  int micro_batch = 0;
  int stage = 0;
  bool operator==(const PipelineWork&) const = default;
};

/// The next action of a rank: computing, or handing over the result of such work.
struct PipelineAction {
  enum class Kind : std::uint8_t { Compute, Send, Receive };
  Kind kind = Kind::Compute;
  PipelineWork work;
  int peer = 0;  // for Send and Receive
};

/// A training step as a table of ranks and ticks; in a tick a rank computes one work or waits. Rank r has the stages r, r + ranks, …
/// Results are handed over at the end of their tick, in one order that all ranks keep to, so that no two ranks wait for each other.
class PipelineSchedule {
 public:
  /// Throws Error for counts below 1, and for several stages a rank unless they are interleaved and the ranks divide the micro-batches.
  PipelineSchedule(PipelineOrder order, int ranks, int micro_batches, int stages_per_rank = 1, Line where = Line::current());

  int ranks() const { return static_cast<int>(table_.size()); }
  int stages() const { return ranks() * stages_per_rank_; }
  int micro_batches() const { return micro_batches_; }
  int ticks() const { return static_cast<int>(table_[0].size()); }
  int owner(int stage) const { return stage % ranks(); }
  /// The work of a rank in a tick, or nothing.
  const std::optional<PipelineWork>& at(int rank, int tick) const;
  /// All that a rank does, in order.
  std::vector<PipelineAction> actions(int rank) const;
  /// The most micro-batches whose forward results a rank keeps, over its stages.
  int kept(int rank) const;

  /// The share of all ticks in which ranks wait, forward and backward passes taken for equally long.
  double bubble() const;
  /// The bubble by the papers' formula, for p ranks, m micro-batches and v stages per rank: (p - 1) / (v m + p - 1).
  double bubble_by_formula() const;

  /// The table, a line a rank: F3 is the forward pass of micro-batch 3, B3 the backward pass (F3.5: in stage 5, where a rank has several), a dot a tick of waiting.
  std::string text() const;

 private:
  PipelineOrder order_;
  int micro_batches_, stages_per_rank_;
  std::vector<std::vector<std::optional<PipelineWork>>> table_;  // [rank][tick]
};

}  // namespace tegula::dist
