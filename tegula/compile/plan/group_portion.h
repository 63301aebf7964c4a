#pragma once
// Which items of a group one program computes, in which stages, and what it reads and writes: a reduction that is split has two programs.

#include <algorithm>
#include <string>
#include <vector>

#include "tegula/compile/plan/group_loops.h"

namespace tegula::compile {

/// The portion of a split reduction that a program computes.
enum class Portion : std::uint8_t { Whole, Partials, Combination };

class GroupPortion {
 public:
  GroupPortion(const Plan& plan, const FusedGroup& group, const LoopNest& nest, Portion portion)
      : plan_(plan),
        graph_(plan.graph),
        group_(group),
        nest_(nest),
        portion_(portion) {
    levels();
    for (int i : items_) {
      if (reads_partial(i)) streams_.push_back(nest.member(i).partial);
      else
        for (std::size_t k = 0; k < item(i).inputs.size(); ++k) streams_.push_back(nest.read(i, k).stream);
      if (leaves_partial(i)) streams_.push_back(nest.member(i).partial);
      else if (stored(i)) streams_.push_back(nest.member(i).store);
    }
    std::ranges::sort(streams_);
    streams_.erase(std::unique(streams_.begin(), streams_.end()), streams_.end());
    if (!streams_.empty() && streams_.front() < 0) streams_.erase(streams_.begin());
  }

  /// The number of stages is more than one: there is work after a reduction.
  bool after_reduction() const { return stages_ > 1; }

 protected:
  const Item& item(int i) const { return graph_[i]; }
  const Membership& member(int i) const { return plan_.fusion.members[index(i)]; }
  bool stored(int i) const { return plan_.fusion.stored[index(i)]; }
  bool is_reduction(int i) const { return item(i).role() == Role::Reduce; }
  const Stream& stream(int s) const { return nest_.stream(s); }
  const Loop& loop(int l) const { return nest_.loops[index(l)]; }
  int loop_count() const { return static_cast<int>(nest_.loops.size()); }
  bool looped() const { return nest_.chunks != 1; }
  bool across() const { return !group_.across.empty(); }
  bool is_across(int i) const { return member(i).space == Space::Across; }
  /// A reduction whose partial results this program stores or loads.
  bool is_split(int i) const { return is_reduction(i) && is_across(i) == across(); }

  /// Partials: all that comes before the partial results. Combination: the rest.
  bool belongs(int i) const {
    if (portion_ == Portion::Whole || is_split(i)) return true;
    const bool before = across() ? !is_across(i) : member(i).space == Space::Full;
    return before == (portion_ == Portion::Partials);
  }

  std::string program_name() const {
    std::string text;
    for (int i : group_.items) {
      if (text.size() > 40) return text + "_etc";
      text += (text.empty() ? "" : "_") + std::string(item(i).op->name());
    }
    return text;
  }

  // The level of a value is the number of reductions that must be finished before it can be computed.
  int level_of(int i) const { return levels_[index(nest_.member(i).place)]; }
  void levels() {
    levels_.resize(group_.items.size());
    for (int i : group_.items) {
      if (!belongs(i)) continue;
      items_.push_back(i);
      int level = 0;
      for (std::size_t k = 0; k < item(i).inputs.size(); ++k) {
        const Operand& operand = nest_.read(i, k).operand;
        if (operand.kind != Operand::Kind::Inside || reads_partial(i)) continue;
        level = std::max(level, level_of(operand.base) + (is_reduction(operand.base) ? 1 : 0));
      }
      levels_[index(nest_.member(i).place)] = level;
      if (is_row_reduction(i) || member(i).space == Space::Full) stages_ = std::max(stages_, level + 1);
    }
  }
  bool reads_partial(int i) const { return portion_ == Portion::Combination && is_split(i); }
  bool leaves_partial(int i) const { return portion_ == Portion::Partials && is_split(i); }
  /// A reduction that ends within a stage: all but those whose sums are carried across rows.
  bool is_row_reduction(int i) const { return is_reduction(i) && !(portion_ == Portion::Partials && is_across(i)); }

  /// Few tiles of sums across are added as they are: registers are scarce where a row's elements and several sums are held.
  bool has_many_tiles() const {
    constexpr std::int64_t kManyTiles = 64;
    return nest_.instances > kManyTiles * nest_.splits;
  }

  bool written(int s) const { return stream(s).scratch >= 0 ? portion_ == Portion::Partials : s >= nest_.loads; }

  const Plan& plan_;
  const Graph& graph_;
  const FusedGroup& group_;
  const LoopNest& nest_;
  Portion portion_;
  std::vector<int> items_;      // those it computes, in program order
  std::vector<int> streams_;    // that it reads or writes, by number
  std::vector<int> levels_;     // by the items' places
  int stages_ = 0;              // their number
};

}  // namespace tegula::compile
