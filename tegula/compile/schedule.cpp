// What may share a launch, and how many threads each step deserves.

#include <algorithm>

#include "tegula/compile/plan.h"

namespace tegula::compile {
namespace {

bool intersects(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int x) { return std::find(b.begin(), b.end(), x) != b.end(); });
}

bool depends(const Step& later, const Step& earlier) {
  return intersects(earlier.writes, later.reads) || intersects(earlier.writes, later.writes) || intersects(earlier.scratch, later.scratch);
}

void absorb(Step& into, Step& from) {
  const auto append = [](auto& to, auto& source) { to.insert(to.end(), source.begin(), source.end()); };
  into.sets.insert(into.sets.begin(), from.sets.begin(), from.sets.end());
  append(into.reads, from.reads);
  append(into.writes, from.writes);
  append(into.scratch, from.scratch);
  append(into.in_place, from.in_place);
  into.bytes += from.bytes;
  into.operations += from.operations;
  into.checks = into.checks || from.checks;
}

// A step alone below this time is not worth waking a second thread for: a fork and join costs about 2 us, and 10-20 beside a busy process.
constexpr double kWorthThreads = 40e-6;      // seconds
constexpr double kWorthAwake = 10e-6;        // where other steps of the plan have woken the threads anyway, and they still wait actively
constexpr double kBytesPerSecond = 25e9;     // one core, roughly; these only pick the thread count
constexpr double kTileOperations = 15e9;     // elementwise operations a second
constexpr double kCallOperations = 80e9;     // floating-point operations of a library call a second
constexpr double kStreamingBytes = 24 << 20; // outputs that do not stay in the last-level cache anyway

}  // namespace

// Steps move down to the last step with their program: an optimiser's updates wait for nobody.
void merge_launches(Plan& plan) {
  std::vector<bool> gone(plan.steps.size());
  for (std::size_t last = plan.steps.size(); last-- > 0;) {
    Step& target = plan.steps[last];
    if (gone[last] || target.call) continue;
    for (std::size_t i = last; i-- > 0;) {
      Step& step = plan.steps[i];
      if (gone[i] || step.call || step.structure != target.structure || step.check_item != target.check_item) continue;
      bool free = !depends(target, step);
      for (std::size_t between = i + 1; between < last && free; ++between) free = gone[between] || !depends(plan.steps[between], step);
      if (!free) continue;
      absorb(target, step);
      gone[i] = true;
    }
  }
  std::vector<Step> kept;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (!gone[i]) kept.push_back(std::move(plan.steps[i]));
  }
  plan.steps = std::move(kept);
}

void assign_threads(Plan& plan, runtime::Device& device) {
  const auto seconds = [](const Step& step) {
    return std::max(step.bytes / kBytesPerSecond, step.operations / (step.call ? kCallOperations : kTileOperations));
  };
  const bool awake = std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) { return seconds(step) > kWorthThreads; });
  for (Step& step : plan.steps) {
    step.threads = seconds(step) > (awake ? kWorthAwake : kWorthThreads) ? device.max_threads() : 1;
    double written = 0;
    for (int item : step.writes) written += static_cast<double>(bytes_of(plan.graph[item]));
    step.streaming = !step.call && written >= kStreamingBytes;
  }
}

}  // namespace tegula::compile
