// Chains of short launches, of which each begins while the one ahead of it runs.

#include <algorithm>
#include <vector>

#include "tegula/compile/plan/plan.h"
#include "tegula/core/setting.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kMostSteps = 2048;    // of a plan that is looked at
constexpr double kLeastStraight = 0.75;     // of all steps but the first: what waits beside others takes room that they need

/// How many steps wait for one other, for which no other waits.
std::size_t straight_steps(const Plan& plan) {
  const std::vector<std::vector<int>> after = data_flow(plan);
  std::vector<int> followers(after.size());
  for (const auto& waits : after)
    for (const int before : waits) ++followers[index(before)];
  return static_cast<std::size_t>(
      std::ranges::count_if(after, [&](const auto& waits) { return waits.size() == 1 && followers[index(waits[0])] == 1; }));
}

bool is_chain_of_short_launches(const Plan& plan) {
  const std::size_t count = plan.steps.size();
  if (count < 2 || count > kMostSteps) return false;
  double bytes = 0;
  for (const Step& step : plan.steps) bytes += step.bytes;
  if (bytes / plan.costs.bytes_per_second > plan.costs.short_launch_seconds * static_cast<double>(count)) return false;
  return static_cast<double>(straight_steps(plan)) >= kLeastStraight * static_cast<double>(count - 1);
}

/// The leaves that no step writes and no run changes.
std::vector<bool> unwritten_leaves(const Graph& graph) {
  std::vector<bool> unwritten(graph.items.size());
  for (int i = 0; i < graph.size(); ++i) unwritten[index(i)] = graph[i].role() == Role::Leaf && graph.leaf(graph[i]).steady;
  for (int i = 0; i < graph.size(); ++i)
    if (const int bottom = graph.place(i).spot.bottom; bottom != i && graph.place(i).value == i) unwritten[index(bottom)] = false;
  const std::vector<int> leaves = items_of_leaves(graph);
  for (const Graph::Update& update : graph.updates)
    if (const int leaf = leaves[index(update.leaf)]; leaf >= 0) unwritten[index(leaf)] = false;
  return unwritten;
}

}  // namespace

void begin_early(Plan& plan, const runtime::Device& device) {
  if (!device.traits().queues) return;
  static const auto forced = word_set("TEGULA_EARLY", {"off", "on"}, "jit");
  if (forced ? *forced == 0 : !is_chain_of_short_launches(plan)) return;
  const std::vector<bool> unwritten = unwritten_leaves(plan.graph);
  for (Step& step : plan.steps) {
    Launch* const launch = step.launch();
    if (!launch) continue;
    tile::Program& program = launch->program.edit();
    program.early = true;
    for (std::size_t a = 0; a < program.parameters.size(); ++a) {
      tile::Parameter& parameter = program.parameters[a];
      parameter.unwritten = parameter.pointer && !parameter.writable && std::ranges::all_of(launch->sets, [&](const LaunchSet& set) {
                              const Reference& from = set.arguments[a];
                              return from.kind == Reference::Kind::Value && unwritten[index(from.index)];
                            });
    }
    launch->structure = tile::structure(program);
  }
}

}  // namespace tegula::compile
