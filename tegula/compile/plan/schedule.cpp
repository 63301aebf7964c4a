// Merges steps into one launch, and chooses each step's number of threads.

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {
namespace {

/// Steps move down to a later one with their program, if no step until there touches what they write. One pass from the last step to the first, in which each
/// value and scratch buffer knows the first place so far where it is touched: a step moves to the last place of its program ahead of those of all that it
/// writes. Steps that wait for different exchanges stay apart: the first need not wait for the last one.
class Merger {
 public:
  explicit Merger(Plan& plan)
      : plan_(plan),
        absorbed_(plan.steps.size()),
        touched_(plan.graph.items.size() + plan.scratch_bytes.size(), count()),
        behind_(behind_exchanges()) {
    for (const Step& step : plan.steps) launches_[step.check_item] += static_cast<int>(step.sets().size());
  }

  void run() {
    std::vector<bool> gone(plan_.steps.size());
    for (int s = count(); s-- > 0;) {
      const int place = place_of(s);
      if (place != s) absorbed_[index(place)].push_back(s), gone[index(s)] = true;
      const Step& step = plan_.steps[index(s)];
      for (const auto* items : {&step.reads, &step.writes})
        for (const int item : *items) touch(index(item), place);
      for (const int scratch : step.scratch) touch(scratch_index(scratch), place);
    }
    std::vector<Step> kept;
    for (int s = 0; s < count(); ++s) {
      if (gone[index(s)]) continue;
      if (!absorbed_[index(s)].empty()) absorb(plan_.steps[index(s)], absorbed_[index(s)]);
      kept.push_back(std::move(plan_.steps[index(s)]));
    }
    plan_.steps = std::move(kept);
  }

 private:
  std::size_t scratch_index(int scratch) const { return plan_.graph.items.size() + index(scratch); }
  int count() const { return static_cast<int>(plan_.steps.size()); }
  void touch(std::size_t value, int place) { touched_[value] = std::min(touched_[value], place); }

  /// The later step that takes it over, or itself.
  int place_of(int s) {
    const Step& step = plan_.steps[index(s)];
    if (step.sets().empty()) return s;
    int end = count();
    for (const int item : step.writes) end = std::min(end, touched_[index(item)]);
    for (const int scratch : step.scratch) end = std::min(end, touched_[scratch_index(scratch)]);
    std::vector<int>& places = places_like(s);
    const auto place = std::ranges::upper_bound(places, end, std::greater());
    if (place != places.end()) return *place;
    places.push_back(s);
    return s;
  }

  /// Per step, the number of the last exchange that it waits for, or 0.
  std::vector<int> behind_exchanges() const {
    std::vector<int> of_item(plan_.graph.items.size()), out;
    int exchange = 0;
    for (const Step& step : plan_.steps) {
      int behind = step.exchanges ? ++exchange : 0;
      for (const int item : step.reads) behind = std::max(behind, of_item[index(item)]);
      for (const int item : step.writes) of_item[index(item)] = behind;
      out.push_back(behind);
    }
    return out;
  }

  /// The item that a step belongs to, where it shares a launch with no other item's: what checks tells whose they are, and several launches of an
  /// op may touch the same value.
  int owner_of(const Step& step) const {
    return step.check_item >= 0 && !step.checks && launches_.at(step.check_item) == 1 ? -1 : step.check_item;
  }

  /// The places so far of steps that may share a launch with step s, from the last to the first.
  std::vector<int>& places_like(int s) {
    const Step& step = plan_.steps[index(s)];
    std::size_t hash = index(owner_of(step)) ^ (index(behind_[index(s)]) << 32);
    for (const int item : step.check_items) hash = (hash ^ index(item)) * 0x9E3779B97F4A7C15u;
    for (const auto word : *step.launch()->structure) hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    for (auto [it, end] = places_.equal_range(hash); it != end; ++it) {
      const Step& last = plan_.steps[index(it->second.front())];
      if (last.launch()->structure == step.launch()->structure && owner_of(last) == owner_of(step) &&
          last.check_items == step.check_items && behind_[index(it->second.front())] == behind_[index(s)])
        return it->second;
    }
    return places_.emplace(hash, std::vector<int>())->second;
  }

  void absorb(Step& into, const std::vector<int>& absorbed) {
    const auto append = [](auto& to, auto& source) { to.insert(to.end(), source.begin(), source.end()); };
    std::vector<LaunchSet> sets;
    for (auto from = absorbed.rbegin(); from != absorbed.rend(); ++from) {
      for (LaunchSet& set : plan_.steps[index(*from)].launch()->sets) sets.push_back(std::move(set));
    }
    for (LaunchSet& set : into.launch()->sets) sets.push_back(std::move(set));
    into.launch()->sets = std::move(sets);
    for (const int i : absorbed) {
      const Step& from = plan_.steps[index(i)];
      append(into.reads, from.reads);
      append(into.writes, from.writes);
      append(into.scratch, from.scratch);
      append(into.in_place, from.in_place);
      into.bytes += from.bytes;
      into.operations += from.operations;
      into.checks = into.checks || from.checks;
    }
  }

  Plan& plan_;
  std::vector<std::vector<int>> absorbed_;  // by each step, the last one first
  std::vector<int> touched_;  // the first place so far of each item, then of each scratch buffer
  std::vector<int> behind_;  // behind_exchanges
  std::map<int, int> launches_;  // of each item with programs of its own
  std::unordered_multimap<std::size_t, std::vector<int>> places_;
};

}  // namespace

void merge_launches(Plan& plan) {
  Merger(plan).run();
  std::erase_if(plan.steps, [](const Step& step) { return step.launch() && step.sets().empty(); });
}

void assign_threads(Plan& plan, runtime::Device& device) {
  const int most = device.max_threads();
  const runtime::Costs& costs = device.costs();
  const auto seconds = [&](const Step& step) {
    return std::max(step.bytes / costs.bytes_per_second,
                    step.operations / (step.is_call() ? costs.call_operations_per_second : costs.tile_operations_per_second));
  };
  // Threads that one step has woken wait actively for the next.
  const bool awake =
      std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) { return seconds(step) > costs.threads_seconds; });
  for (Step& step : plan.steps) {
    step.threads = most > 1 && seconds(step) > (awake ? costs.awake_seconds : costs.threads_seconds) ? most : 1;
    double written = 0;
    for (int item : step.writes) written += static_cast<double>(bytes_of(plan.graph[item]));
    step.streaming = step.launch() && written >= costs.streaming_bytes;
  }
}

}  // namespace tegula::compile
