#include "tegula/compile/plan/overlap.h"

#include <algorithm>

#include "tegula/runtime/device.h"

namespace tegula::compile {
namespace {

/// An exchange that gives less than it takes, as a reduce-scatter does, is taken to be over when so many others were begun behind it: whoever takes its memory
/// waits for it. If exchanges are faster than the steps beside them nothing waits; if they are slower the exchanges behind keep the link busy.
constexpr std::size_t kUnderWay = 4;

bool gives_less(const Plan& plan, const Step& step) {
  const auto bytes = [&](const std::vector<int>& items) {
    std::size_t sum = 0;
    for (const int item : items) sum += plan.values[index(item)].bytes();
    return sum;
  };
  return bytes(step.writes) < bytes(step.reads);
}

/// A loop with an exchange in its body cannot: that is a step like others.
bool can_begin(const Step& step, bool asynchronous) {
  if (!step.exchanges) return false;
  return asynchronous ? !step.loop() : step.call()->begins();
}

}  // namespace

Overlap overlap(const Plan& plan, bool asynchronous) {
  const std::size_t count = plan.steps.size();
  std::vector<bool> exchange(count);
  bool any = false;
  for (std::size_t s = 0; s < count; ++s) {
    exchange[s] = can_begin(plan.steps[s], asynchronous);
    any = any || exchange[s];
  }
  if (!any) return {};
  const std::vector<std::vector<int>> after = dependencies(plan);
  std::vector<std::size_t> first(count, count);  // who waits for the step first
  for (std::size_t s = count; s-- > 0;) {
    for (const int before : after[s])
      if (!(exchange[s] && exchange[index(before)])) first[index(before)] = s;
  }
  // From the last one on, since who waits for an exchange waits for those before it, and one that is carried out in its place does, too.
  Overlap out{.begins = std::vector<bool>(count), .waits = std::vector<int>(count, -1)};
  std::size_t waited = count;
  for (std::size_t s = count; s-- > 0;) {
    if (!exchange[s]) continue;
    waited = std::min(waited, first[s]);
    for (std::size_t between = s + 1; between < waited; ++between) out.begins[s] = out.begins[s] || !exchange[between];
    if (!out.begins[s]) waited = s;
  }
  int begun = -1;
  for (std::size_t s = 0; s < count; ++s) {
    if (out.begins[s]) {
      begun = static_cast<int>(s);
    } else if (exchange[s]) {
      out.waits[s] = begun;
    } else {
      for (const int before : after[s])
        if (out.begins[index(before)]) out.waits[s] = std::max(out.waits[s], before);
    }
  }
  if (begun < 0) return {};
  return out;
}

std::vector<int> in_use_until(const Plan& plan, bool asynchronous) {
  const int count = static_cast<int>(plan.steps.size());
  const auto bottom = [&](int item) { return static_cast<std::size_t>(plan.values[index(item)].spot.bottom); };
  std::vector<int> next(plan.values.size(), count), out(static_cast<std::size_t>(count));  // of each bottom, the next step that touches it
  std::vector<int> behind;  // the exchanges, from the last one on
  for (int s = count; s-- > 0;) {
    const Step& step = plan.steps[index(s)];
    int& until = out[index(s)];
    until = s;
    if (asynchronous ? step.exchanges : can_begin(step, false)) {
      until = behind.size() < kUnderWay || !gives_less(plan, step) ? count - 1 : behind[behind.size() - kUnderWay];
      behind.push_back(s);
      for (const int item : step.writes) until = std::min(until, std::max(s, next[bottom(item)] - 1));
    }
    for (const auto* items : {&step.reads, &step.writes})
      for (const int item : *items) next[bottom(item)] = s;
  }
  return out;
}

std::vector<std::vector<int>> order_of_walk(const Plan& plan, const Overlap& overlap) {
  std::vector<std::vector<int>> after(plan.steps.size());
  int step = -1, begun = -1;  // the last ones
  for (std::size_t s = 0; s < after.size(); ++s) {
    if (step >= 0) after[s].push_back(step);
    const bool begins = !overlap.begins.empty() && overlap.begins[s];
    if (begins && begun >= 0) after[s].push_back(begun);
    if (!begins && !overlap.waits.empty() && overlap.waits[s] >= 0) after[s].push_back(overlap.waits[s]);
    (begins ? begun : step) = static_cast<int>(s);
  }
  return after;
}

}  // namespace tegula::compile
