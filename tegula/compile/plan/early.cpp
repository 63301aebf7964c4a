// Chains of short launches, of which each begins while the one ahead of it runs.

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "tegula/compile/plan/plan.h"
#include "tegula/core/setting.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kMostSteps = 2048;    // of a plan that is looked at
constexpr double kLeastStraight = 0.75;     // of all steps but the first: what waits beside others takes room that they need

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// How many steps are behind one other, which has no other behind it.
class Chain {
 public:
  explicit Chain(const Plan& plan) : plan_(plan), spots_(spots(plan.graph)), roots_(storage_roots(plan.graph)) {}

  std::size_t straight_steps() {
    const auto count = static_cast<int>(plan_.steps.size());
    std::vector<std::vector<bool>> before;  // of each step, which come before it, directly or not
    std::vector<int> only(index(count), -1), followers(index(count));
    for (int s = 0; s < count; ++s) {
      std::vector<int> waits = waits_of(s);
      std::ranges::sort(waits, std::greater());
      std::vector<bool> all(index(s));
      int direct = 0;
      for (const int e : waits) {
        if (e == s || all[index(e)]) continue;
        ++direct, ++followers[index(e)];
        only[index(s)] = direct == 1 ? e : -1;
        all[index(e)] = true;
        for (std::size_t k = 0; k < before[index(e)].size(); ++k) all[k] = all[k] || before[index(e)][k];
      }
      before.push_back(std::move(all));
    }
    return static_cast<std::size_t>(std::ranges::count_if(only, [&](int e) { return e >= 0 && followers[index(e)] == 1; }));
  }

 private:
  struct Touches {
    int writer = -1;
    std::vector<int> readers;
  };
  int place(int item) const { return roots_[index(spots_[index(item)].root)]; }

  std::vector<int> waits_of(int s) {
    const Step& step = plan_.steps[index(s)];
    std::vector<int> waits;
    for (const int item : step.reads) {
      Touches& touches = values_[place(item)];
      if (touches.writer >= 0) waits.push_back(touches.writer);
      touches.readers.push_back(s);
    }
    const auto write = [&](Touches& touches) {
      if (touches.writer >= 0) waits.push_back(touches.writer);
      waits.insert(waits.end(), touches.readers.begin(), touches.readers.end());
      touches = {s, {}};
    };
    for (const int item : step.writes) write(values_[place(item)]);
    for (const int scratch : step.scratch) write(scratch_[scratch]);
    return waits;
  }

  const Plan& plan_;
  std::vector<Spot> spots_;
  std::vector<int> roots_;
  std::map<int, Touches> values_, scratch_;
};

bool is_chain_of_short_launches(const Plan& plan) {
  const std::size_t count = plan.steps.size();
  if (count < 2 || count > kMostSteps) return false;
  double bytes = 0;
  for (const Step& step : plan.steps) bytes += step.bytes;
  if (bytes / plan.costs.bytes_per_second > plan.costs.short_launch_seconds * static_cast<double>(count)) return false;
  return static_cast<double>(Chain(plan).straight_steps()) >= kLeastStraight * static_cast<double>(count - 1);
}

/// The leaves that no step writes and no run changes.
std::vector<bool> unwritten_leaves(const Graph& graph) {
  const std::vector<int> roots = storage_roots(graph);
  std::vector<bool> unwritten(graph.items.size());
  for (int i = 0; i < graph.size(); ++i) unwritten[index(i)] = graph[i].role() == Role::Leaf && graph.leaves[index(graph[i].slot)].steady;
  for (int i = 0; i < graph.size(); ++i)
    if (roots[index(i)] != i) unwritten[index(roots[index(i)])] = false;
  for (const Graph::Update& update : graph.updates)
    for (int i = 0; i < graph.size(); ++i)
      if (graph[i].role() == Role::Leaf && graph[i].slot == update.leaf) unwritten[index(i)] = false;
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
