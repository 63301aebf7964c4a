// In which order steps that may run side by side are handed to the device.

#include <algorithm>
#include <queue>
#include <set>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

std::vector<int> launch_order(const Plan& plan, const std::vector<std::vector<int>>& after) {
  const int count = static_cast<int>(plan.steps.size());
  const runtime::StepCosts& costs = plan.costs;
  const auto seconds = [&](const Step& step) {
    const double operations_per_second = step.call ? costs.call_operations_per_second : costs.tile_operations_per_second;
    return costs.launch_seconds + step.bytes / costs.bytes_per_second + step.operations / operations_per_second;
  };
  // From the beginning of each step to the end of the last one that waits for it.
  std::vector<double> remaining(static_cast<std::size_t>(count));
  for (int s = count; s-- > 0;) {
    const auto at = static_cast<std::size_t>(s);
    remaining[at] += seconds(plan.steps[at]);
    for (const int before : after[at])
      remaining[static_cast<std::size_t>(before)] = std::max(remaining[static_cast<std::size_t>(before)], remaining[at]);
  }
  const std::vector<bool> urgent = urgent_steps(plan);
  const double all = count == 0 ? 0 : *std::ranges::max_element(remaining);
  for (std::size_t s = 0; s < urgent.size(); ++s) remaining[s] += urgent[s] ? all : 0;
  std::vector<std::vector<int>> behind(static_cast<std::size_t>(count));
  std::vector<std::size_t> missing(static_cast<std::size_t>(count));
  using Entry = std::pair<double, int>;  // (remaining, minus the step's number): the earlier of two alike
  std::priority_queue<Entry> ready;
  for (int s = 0; s < count; ++s) {
    const auto at = static_cast<std::size_t>(s);
    missing[at] = after[at].size();
    for (const int before : after[at]) behind[static_cast<std::size_t>(before)].push_back(s);
    if (missing[at] == 0) ready.emplace(remaining[at], -s);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int next = -ready.top().second;
    ready.pop();
    order.push_back(next);
    for (const int s : behind[static_cast<std::size_t>(next)]) {
      if (--missing[static_cast<std::size_t>(s)] == 0) ready.emplace(remaining[static_cast<std::size_t>(s)], -s);
    }
  }
  return order;
}

std::vector<PlannedRun> recorded_runs(const Plan& plan, const std::vector<std::vector<int>>& after, int times) {
  const std::vector<int> order = launch_order(plan, after);
  std::vector<int> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) place[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
  std::set<int> last(place.begin(), place.end());  // nobody waits for these
  std::vector<PlannedRun> runs;
  for (int time = 0; time < times; ++time) {
    const int begin = static_cast<int>(runs.size());
    for (const int s : order) {
      std::vector<int> waits;
      for (const int before : after[static_cast<std::size_t>(s)]) {
        const int k = place[static_cast<std::size_t>(before)];
        waits.push_back(begin + k);
        last.erase(k);
      }
      // All of the run before is over before a step of this one, which the others wait for.
      if (time > 0 && s == order[0]) {
        for (const int k : last) waits.push_back(begin - static_cast<int>(order.size()) + k);
      } else if (time > 0 && waits.empty()) {
        waits.push_back(begin);
      }
      runs.push_back({s, std::move(waits)});
    }
  }
  return runs;
}

}  // namespace tegula::compile
