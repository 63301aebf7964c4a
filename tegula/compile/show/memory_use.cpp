#include "tegula/compile/show/memory_use.h"

#include <algorithm>
#include <map>

#include "tegula/compile/plan/prepare_loop.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/text_table.h"

namespace tegula::compile {
namespace {

const PlannedValue& value_of(const Plan& plan, int item) { return plan.values[index(item)]; }

/// The values in memory at step `s`; if one replaced another in that step, the new one.
std::vector<Stay> at_step(const std::vector<Stay>& stays, int s) {
  std::vector<Stay> here;
  for (const Stay& stay : stays) {
    if (stay.first <= s && s <= stay.last) here.push_back(stay);
  }
  std::stable_sort(here.begin(), here.end(),
                   [](const Stay& a, const Stay& b) { return a.offset != b.offset ? a.offset < b.offset : a.first > b.first; });
  here.erase(std::unique(here.begin(), here.end(), [](const Stay& a, const Stay& b) { return a.offset == b.offset && a.held.bytes > 0; }),
             here.end());
  return here;
}

std::string name_of(const Plan& plan, const MemoryUse::Held& held) {
  if (held.item < 0) return "scratch of " + plan.steps[index(held.step)].name;
  return value_of(plan, held.item).name;
}

std::string line_of(const Plan& plan, const MemoryUse::Held& held) {
  return tegula::to_string(held.item < 0 ? plan.steps[index(held.step)].origin.where : value_of(plan, held.item).origin.where);
}

std::string described(const Plan& plan, const MemoryUse::Held& held) {
  if (held.item < 0) return "";
  const PlannedValue& value = value_of(plan, held.item);
  return tegula::to_string(value.shape) + " " + std::string(name(value.dtype));
}

}  // namespace

std::vector<Stay> stays_of(const Plan& plan) {
  const int end = static_cast<int>(plan.steps.size());
  std::map<int, Stay> values, scratch;
  const auto touch = [&](int piece, int step) {
    const int item = value_of(plan, piece).spot.root;  // a join is there as long as a piece of it
    const Storage& storage = plan.storage[index(item)];
    if (storage.kind != Storage::Kind::Arena) return;
    values.try_emplace(item, Stay{{item, step, value_of(plan, item).bytes()}, storage.offset, step, step}).first->second.last = step;
  };
  for (int s = 0; s < end; ++s) {
    const Step& step = plan.steps[index(s)];
    for (const auto* items : {&step.writes, &step.reads})
      for (const int item : *items) touch(item, s);
    for (const int b : step.scratch) {
      const auto buffer = static_cast<std::size_t>(b);
      scratch.try_emplace(b, Stay{{-1, s, plan.scratch_bytes[buffer]}, plan.scratch_offsets[buffer], s, s}).first->second.last = s;
    }
  }
  std::vector<Stay> stays;
  for (const auto& map : {values, scratch}) {
    for (const auto& [key, stay] : map) stays.push_back(stay);
  }
  return stays;
}

MemoryUse memory_use(const Plan& plan) {
  MemoryUse use;
  for (const Leaf& leaf : plan.graph.leaves) use.leaf_bytes += static_cast<std::size_t>(numel(leaf.shape)) * size_of(leaf.dtype);
  for (int output : plan.graph.outputs) use.output_bytes += value_of(plan, output).bytes();
  const std::vector<Stay> stays = stays_of(plan);
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    std::size_t bytes = 0;
    for (const Stay& stay : at_step(stays, s)) bytes += stay.held.bytes;
    if (use.peak < 0 || bytes > use.between[index(use.peak)]) use.peak = s;
    use.between.push_back(bytes);
  }
  for (const Stay& stay : at_step(stays, use.peak)) use.held.push_back(stay.held);
  std::stable_sort(use.held.begin(), use.held.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return use;
}

std::string memory_table(const Plan& plan) {
  const MemoryUse use = memory_use(plan);
  const std::size_t most = use.peak < 0 ? 0 : use.between[index(use.peak)];
  std::string text = bytes_text(use.leaf_bytes + use.output_bytes + most) + " at the peak: " + bytes_text(use.leaf_bytes) +
                     " of arguments, Variables and captured tensors, " + bytes_text(use.output_bytes) + " of results, " + bytes_text(most) +
                     " between steps (" + bytes_text(plan.arena_bytes) + " set aside for them)\n";
  if (most > 0) {
    text += "\nbetween steps, at step " + std::to_string(use.peak) + " (" + plan.steps[index(use.peak)].name + "):\n";
    constexpr std::size_t kRows = 16;
    TextTable held({"bytes", "op", "value", "line"});
    std::size_t rest = 0;
    for (std::size_t i = 0; i < use.held.size(); ++i) {
      const auto& one = use.held[i];
      if (i < kRows) held.add({bytes_text(one.bytes), name_of(plan, one), described(plan, one), line_of(plan, one)});
      else rest += one.bytes;
    }
    if (use.held.size() > kRows) held.add({bytes_text(rest), std::to_string(use.held.size() - kRows) + " more", "", ""});
    text += held.text(2);
  }
  text += "\n";
  TextTable steps({"step", "between", "", "name"});
  for (std::size_t s = 0; s < use.between.size(); ++s) {
    const std::size_t bar = most == 0 ? 0 : (use.between[s] * 24 + most - 1) / most;
    steps.add({std::to_string(s), bytes_text(use.between[s]), std::string(bar, '#'), plan.steps[s].name});
  }
  if (!steps.empty()) text += steps.text(2);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (const Plan* const body = plan.steps[s].loop() ? body_of(*plan.steps[s].loop()) : nullptr)
      text += "\nwithin step " + std::to_string(s) + ", in each turn of the loop:\n" + indented(memory_table(*body));
  }
  return text;
}

std::string arena_purpose(const Plan& plan) {
  std::vector<Stay> stays = stays_of(plan);
  std::stable_sort(stays.begin(), stays.end(), [](const Stay& a, const Stay& b) { return a.held.bytes > b.held.bytes; });
  std::string text = "values between " + std::to_string(plan.steps.size()) + " steps";
  for (std::size_t i = 0; i < std::min<std::size_t>(3, stays.size()); ++i) {
    const std::string line = line_of(plan, stays[i].held);
    text += (i == 0 ? ", the largest " : ", ") + bytes_text(stays[i].held.bytes) + " " + name_of(plan, stays[i].held) +
            (line.empty() ? "" : " " + line);
  }
  return text;
}

}  // namespace tegula::compile
