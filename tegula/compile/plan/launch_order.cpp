// In which order steps that may run side by side are handed to the device.

#include <algorithm>
#include <numeric>
#include <set>

#include "tegula/compile/list_schedule.h"
#include "tegula/compile/plan/plan.h"

namespace tegula::compile {
namespace {

/// The estimated seconds of each step, from the device's costs.
std::vector<double> durations(const Plan& plan) {
  const runtime::Costs& costs = plan.costs;
  std::vector<double> all;
  for (const Step& step : plan.steps) {
    const double operations_per_second = step.is_call() ? costs.call_operations_per_second : costs.tile_operations_per_second;
    all.push_back(costs.launch_seconds + step.bytes / costs.bytes_per_second + step.operations / operations_per_second);
  }
  return all;
}

/// When each step is over at the earliest, counted from the beginning of the run.
std::vector<double> earliest_ends(const std::vector<double>& takes, const std::vector<std::vector<int>>& after) {
  std::vector<double> over(after.size());
  for (std::size_t s = 0; s < over.size(); ++s) {
    for (const int before : after[s]) over[s] = std::max(over[s], over[index(before)]);
    over[s] += takes[s];
  }
  return over;
}

/// Exchanges, and of what they wait for those that one would wait for if they took twice as long.
std::vector<bool> hurried_steps(const Plan& plan, const std::vector<std::vector<int>>& after) {
  const std::vector<double> takes = durations(plan), over = earliest_ends(takes, after);
  std::vector<bool> hurried(plan.steps.size());
  for (std::size_t s = 0; s < over.size(); ++s) {
    if (!plan.steps[s].exchanges) continue;
    hurried[s] = true;
    double begins = 0;
    for (const int before : after[s]) begins = std::max(begins, over[index(before)]);
    for (const int before : after[s]) {
      const auto at = static_cast<std::size_t>(before);
      if (over[at] + takes[at] >= begins) hurried[at] = true;
    }
  }
  return hurried;
}

/// Delays steps that depend on an exchange and have no dependants (parameter updates), so that they overlap the exchange whose operands are ready last. Next to
/// that exchange's producers they would compete with them for the device, and the exchange would have nothing left to overlap.
std::vector<std::vector<int>> put_off(const Plan& plan, std::vector<std::vector<int>> after) {
  const std::vector<double> over = earliest_ends(durations(plan), after);
  std::vector<bool> exchange(after.size()), awaited(after.size());
  std::vector<int> behind(after.size(), -1);  // the last exchange that a step waits for itself
  double latest = 0;
  int last = -1;  // the exchange whose numbers are there last
  for (std::size_t s = 0; s < after.size(); ++s) {
    exchange[s] = plan.steps[s].exchanges;
    for (const int step : after[s]) {
      const auto before = static_cast<std::size_t>(step);
      awaited[before] = true;
      if (exchange[before]) behind[s] = std::max(behind[s], step);
      else if (exchange[s] && over[before] > latest) latest = over[before], last = static_cast<int>(s);
    }
  }
  for (std::size_t s = 0; s < after.size(); ++s) {
    if (awaited[s] || exchange[s] || behind[s] < 0 || behind[s] >= last) continue;
    for (const int step : after[index(last)])
      if (step < static_cast<int>(s) && !exchange[index(step)]) after[s].push_back(step);
    std::ranges::sort(after[s]);
    after[s].erase(std::unique(after[s].begin(), after[s].end()), after[s].end());
  }
  return after;
}

}  // namespace

std::vector<int> launch_order(const Plan& plan, const std::vector<std::vector<int>>& after) {
  const int count = static_cast<int>(plan.steps.size());
  // From the beginning of each step to the end of the last one that waits for it. Exchanges are one chain: with more than all steps take added for each, what the first
  // waits for goes ahead of what only the second does, and both of what none waits for.
  std::vector<double> remaining = durations(plan);
  const double all = std::accumulate(remaining.begin(), remaining.end(), 0.0);
  std::vector<double> behind_it(remaining.size());
  for (int s = count; s-- > 0;) {
    const auto at = static_cast<std::size_t>(s);
    remaining[at] += behind_it[at] + (plan.steps[at].exchanges ? all : 0);
    for (const int before : after[at]) {
      double& most = behind_it[index(before)];
      most = std::max(most, remaining[at]);
    }
  }
  return list_schedule(
      count, [&](int s) -> const std::vector<int>& { return after[index(s)]; }, [&](int s) { return -remaining[index(s)]; });
}

std::vector<PlannedRun> recorded_runs(const Plan& plan, const std::vector<std::vector<int>>& needed, int times) {
  const std::vector<std::vector<int>> after = put_off(plan, needed);
  const std::vector<int> order = launch_order(plan, after);
  const std::vector<bool> hurried = hurried_steps(plan, after);
  std::vector<int> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) place[index(order[k])] = static_cast<int>(k);
  std::set<int> last(place.begin(), place.end());  // nobody waits for these
  std::vector<PlannedRun> runs;
  for (int time = 0; time < times; ++time) {
    const int begin = static_cast<int>(runs.size());
    for (const int s : order) {
      std::vector<int> waits;
      for (const int before : after[index(s)]) {
        const int k = place[index(before)];
        waits.push_back(begin + k);
        last.erase(k);
      }
      // All of the run before is over before a step of this one, which the others wait for.
      if (time > 0 && s == order[0]) {
        for (const int k : last) waits.push_back(begin - static_cast<int>(order.size()) + k);
      } else if (time > 0 && waits.empty()) {
        waits.push_back(begin);
      }
      runs.push_back({s, std::move(waits), hurried[index(s)]});
    }
  }
  return runs;
}

}  // namespace tegula::compile
