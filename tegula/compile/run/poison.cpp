#include "tegula/compile/run/poison.h"

#include <algorithm>

namespace tegula::compile {
namespace {

/// A value or scratch in the arena, from the first step that touches it to the last.
struct Held {
  Stretch bytes;
  int first = -1, last = -1;
  void touch(int step) {
    if (first < 0) first = step;
    last = std::max(last, step);
  }
};

std::vector<Held> held_by(const Plan& plan) {
  std::vector<Held> values(plan.values.size()), scratch(plan.scratch_bytes.size()), all;
  const int end = static_cast<int>(plan.steps.size());
  const auto value = [&](int item) -> Held& {  // a join is there as long as a piece of it
    return values[static_cast<std::size_t>(plan.values[static_cast<std::size_t>(item)].spot.root)];
  };
  for (int s = 0; s < end; ++s) {
    const Step& step = plan.steps[static_cast<std::size_t>(s)];
    for (const auto* list : {&step.reads, &step.writes}) {
      for (const int item : *list) value(item).touch(s);
    }
    for (const int b : step.scratch) scratch[static_cast<std::size_t>(b)].touch(s);
  }
  for (const auto& [update, item] : plan.late_updates) value(item).touch(end);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Storage& storage = plan.storage[i];
    if (storage.kind != Storage::Kind::Arena || values[i].first < 0) continue;
    values[i].bytes = {storage.offset, storage.offset + plan.values[i].bytes()};
    all.push_back(values[i]);
  }
  for (std::size_t b = 0; b < scratch.size(); ++b) {
    if (scratch[b].first < 0) continue;
    scratch[b].bytes = {plan.scratch_offsets[b], plan.scratch_offsets[b] + plan.scratch_bytes[b]};
    all.push_back(scratch[b]);
  }
  return all;
}

}  // namespace

std::vector<std::vector<Stretch>> dead_after(const Plan& plan) {
  std::vector<std::vector<Stretch>> out(plan.steps.size());
  std::vector<Held> all = held_by(plan);
  std::sort(all.begin(), all.end(), [](const Held& a, const Held& b) { return a.bytes < b.bytes; });
  for (const Held& dying : all) {
    if (static_cast<std::size_t>(dying.last) >= out.size()) continue;
    // Without what lies there and is needed later: a result that took its place.
    std::size_t at = dying.bytes.first;
    for (const Held& other : all) {
      if (other.first > dying.last || other.last <= dying.last || other.bytes.second <= at || other.bytes.first >= dying.bytes.second)
        continue;
      if (other.bytes.first > at) out[static_cast<std::size_t>(dying.last)].emplace_back(at, other.bytes.first);
      at = std::max(at, other.bytes.second);
    }
    if (at < dying.bytes.second) out[static_cast<std::size_t>(dying.last)].emplace_back(at, dying.bytes.second);
  }
  return out;
}

}  // namespace tegula::compile
