// Merges steps into one launch, and chooses each step's number of threads.

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {
namespace {

/// Steps move down to the last one with their program, if nobody until there depends on them. One pass from the last step to the first, in
/// which each value and scratch buffer keeps a list of the steps so far that touch it: a step is free to move to the place of the pass when it
/// is the last on the lists of all that it writes. Steps that wait for different exchanges stay apart: the first need not wait for the last one.
class Merger {
 public:
  explicit Merger(Plan& plan)
      : plan_(plan),
        steps_(plan.steps.size()),
        touching_(plan.graph.items.size() + plan.scratch_bytes.size()),
        behind_(behind_exchanges()) {
    for (const Step& step : plan.steps) launches_[step.check_item] += static_cast<int>(step.sets().size());
    for (int s = 0; s < count(); ++s) {
      const Step& step = plan_.steps[index(s)];
      State& state = steps_[index(s)];
      if (!step.sets().empty()) state.bucket = bucket_of(step);
      state.wanted = note_places(step, state.places);
      for (const std::size_t place : state.places) touching_[place].push_back(s);
    }
    ready_.resize(firsts_.size());
    for (std::size_t place = 0; place < touching_.size(); ++place) uncover(place, count());
    for (int s = 0; s < count(); ++s) {
      if (steps_[index(s)].wanted == 0 && steps_[index(s)].bucket >= 0) ready_[index(steps_[index(s)].bucket)].insert(s);
    }
  }

  void run() {
    for (int s = count(); s-- > 0;) {
      if (steps_[index(s)].gone) continue;
      std::vector<int> absorbed;
      if (const int bucket = steps_[index(s)].bucket; bucket >= 0) {
        ready_[index(bucket)].erase(s);
        absorbed.assign(ready_[index(bucket)].rbegin(), ready_[index(bucket)].rend());
        ready_[index(bucket)].clear();
      }
      for (const int from : absorbed) steps_[index(from)].gone = true;
      const auto pass = [&](int step) {
        for (const std::size_t place : steps_[index(step)].places) uncover(place, s);
      };
      pass(s);
      for (const int from : absorbed) pass(from);
      if (!absorbed.empty()) absorb(plan_.steps[index(s)], absorbed);
    }
    std::vector<Step> kept;
    for (int s = 0; s < count(); ++s) {
      if (!steps_[index(s)].gone) kept.push_back(std::move(plan_.steps[index(s)]));
    }
    plan_.steps = std::move(kept);
  }

 private:
  struct State {
    int bucket = -1;  // of steps with the same program; -1: a call
    int wanted = 0, last_of = 0;  // places it writes; those of which it is the last on the list
    bool gone = false;
    std::vector<std::size_t> places;  // that it touches: note_places
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  int count() const { return static_cast<int>(plan_.steps.size()); }

  /// Notes the values and scratch buffers of a step, each once, those that it writes first; returns the number of those.
  int note_places(const Step& step, std::vector<std::size_t>& places) const {
    for (const int item : step.writes) places.push_back(index(item));
    for (const int scratch : step.scratch) places.push_back(plan_.graph.items.size() + index(scratch));
    const auto sort = [&](auto begin) {
      std::sort(begin, places.end());
      places.erase(std::unique(begin, places.end()), places.end());
    };
    sort(places.begin());
    const auto written = static_cast<std::ptrdiff_t>(places.size());
    for (const int item : step.reads) {
      if (!std::binary_search(places.begin(), places.begin() + written, index(item))) places.push_back(index(item));
    }
    sort(places.begin() + written);
    return static_cast<int>(written);
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

  int bucket_of(const Step& step) {
    const int behind = behind_[index(static_cast<int>(&step - plan_.steps.data()))];
    std::size_t hash = index(owner_of(step)) ^ (index(behind) << 32);
    for (const int item : step.check_items) hash = (hash ^ index(item)) * 0x9E3779B97F4A7C15u;
    for (const auto word : *step.launch()->structure) hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    for (auto [it, end] = buckets_.equal_range(hash); it != end; ++it) {
      const Step& first = plan_.steps[index(firsts_[index(it->second)])];
      if (first.launch()->structure == step.launch()->structure && owner_of(first) == owner_of(step) &&
          first.check_items == step.check_items && behind_[index(firsts_[index(it->second)])] == behind)
        return it->second;
    }
    buckets_.emplace(hash, static_cast<int>(firsts_.size()));
    firsts_.push_back(static_cast<int>(&step - plan_.steps.data()));
    return static_cast<int>(firsts_.size()) - 1;
  }

  /// Takes the steps from `end` on, and those that have moved there, off the place's list. Who is the last then may be free.
  void uncover(std::size_t place, int end) {
    auto& list = touching_[place];
    const std::size_t before = list.size();
    while (!list.empty() && (list.back() >= end || steps_[index(list.back())].gone)) list.pop_back();
    if (list.empty() || (list.size() == before && end != count())) return;
    const int last = list.back();
    State& state = steps_[index(last)];
    const auto written = std::span(state.places).first(index(state.wanted));
    const bool writes = std::ranges::binary_search(written, place);
    if (writes && ++state.last_of == state.wanted && state.bucket >= 0) ready_[index(state.bucket)].insert(last);
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
  std::vector<State> steps_;
  std::vector<std::vector<int>> touching_;  // items, then scratch buffers -> steps, in order
  std::vector<int> behind_;  // of each step as it was: behind_exchanges
  std::map<int, int> launches_;  // of each item with programs of its own
  std::unordered_multimap<std::size_t, int> buckets_;
  std::vector<int> firsts_;  // of each bucket: a step
  std::vector<std::set<int>> ready_;  // of each bucket: the steps that are free
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
