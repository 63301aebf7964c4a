#include "tegula/compile/plan/step_sources.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tegula/compile/list_schedule.h"
#include "tegula/core/error.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

/// A source, and what it waits for.
struct Candidate {
  StepSource source;
  int last = 0;             // its last item
  std::vector<int> before;  // those it needs
  int key = 0;              // decides among those that are ready, then `last`: program order, or ahead of it
};

class Orderer {
 public:
  Orderer(const Plan& plan, Steps steps) : plan_(plan), unit_of_(plan.graph.items.size(), -1) {
    for (int g = 0; g < static_cast<int>(plan.fusion.groups.size()); ++g) {
      const auto& items = plan.fusion.groups[index(g)].items;
      if (items.empty()) continue;
      for (int i : items) unit_of(i) = static_cast<int>(candidates_.size());
      candidates_.push_back(
          {.source = {.group = g}, .last = items.back(), .key = steps == Steps::Launches ? launch_key(items) : items.back()});
    }
    for (int i = 0; i < plan.graph.size(); ++i) {
      if (plan.graph[i].role() != Role::Library && plan.graph[i].role() != Role::Kernel) continue;
      unit_of(i) = static_cast<int>(candidates_.size());
      candidates_.push_back({.source = {.item = i}, .last = i, .key = i});
    }
    for (int i = 0; i < plan.graph.size(); ++i) {
      if (plan.graph[i].is_part()) {
        unit_of(i) = unit_of(plan.graph[i].inputs[0]);
      } else if (unit_of(i) >= 0) {
        for (int input : plan.graph[i].inputs) depend(unit_of(i), input);
      }
    }
    // Writers over a Variable's old value come after all checks.
    const std::vector<bool> writers = writers_over_leaves(plan.graph);
    std::vector<int> checks;
    for (int i = 0; i < plan.graph.size(); ++i) {
      if (writers[index(i)])
        for (const int check : checks) depend(unit_of(i), check);
      if (has_check(plan.graph[i])) checks.push_back(i);
    }
    for (auto& [source, last, before, key] : candidates_) {
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
    }
  }

  std::vector<StepSource> run() {
    const std::vector<int> in_program_order = sorted();
    if (std::ranges::any_of(candidates_, [&](const Candidate& node) { return effect(node) != Effect::None; })) {
      advance_exchanges(in_program_order);
      return sources(sorted());
    }
    return sources(in_program_order);
  }

 private:
  // Casts of leaves come first, then copies, in another order, of leaves or of those.
  int launch_key(const std::vector<int>& items) const {
    const Graph& graph = plan_.graph;
    const auto below = [&](int item) { return access_of(graph, graph[item].inputs[0]).base; };
    const auto is_cast = [&](int item) { return graph[item].op == cast_op() && graph[below(item)].role() == Role::Leaf; };
    const auto is_copy = [&](int item) {
      return graph[item].op == copy_op() && (graph[below(item)].role() == Role::Leaf || is_cast(below(item)));
    };
    return std::ranges::all_of(items, is_cast) ? -2 : std::ranges::all_of(items, is_copy) ? -1 : items.back();
  }
  int& unit_of(int item) { return unit_of_[index(item)]; }
  Candidate& source(int u) { return candidates_[index(u)]; }

  void depend(int source, int item) {
    each_behind_views(plan_.graph, item, [&](int base) {
      const int producer = unit_of(base);
      if (producer >= 0 && producer != source) this->source(source).before.push_back(producer);
    });
  }

  std::vector<int> sorted() {
    std::vector<int> order = list_schedule(
        static_cast<int>(candidates_.size()), [&](int u) -> const std::vector<int>& { return source(u).before; },
        [&](int u) { return std::pair(source(u).key, source(u).last); });
    if (order.size() != candidates_.size()) {
      throw Error({.op = "compile",
                   .got = "groups that wait for each other",
                   .expected = "an order to run them in",
                   .advice = "this is a bug in Tegula"});
    }
    return order;
  }

  std::vector<StepSource> sources(const std::vector<int>& order) {
    std::vector<StepSource> out;
    for (const int u : order) out.push_back(source(u).source);
    return out;
  }

  Effect effect(const Candidate& node) const { return node.source.item < 0 ? Effect::None : effect_of(*plan_.graph[node.source.item].op); }

  /// `order`: one that respects the data flow.
  void advance_exchanges(const std::vector<int>& order) {
    std::vector<bool> feeds(candidates_.size(), true);  // what is read by exchanges alone, and by what they alone read
    std::vector<bool> read(candidates_.size()), stays(candidates_.size());  // by anything; what the caller gets
    const auto keep = [&](int item) {
      each_behind_views(plan_.graph, item, [&](int base) {
        if (unit_of(base) >= 0) stays[index(unit_of(base))] = true;
      });
    };
    for (const int item : plan_.graph.outputs) keep(item);
    for (const auto& update : plan_.graph.updates) keep(update.item);
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const Candidate& node = source(*it);
      const auto at = static_cast<std::size_t>(*it);
      const bool call = node.source.item >= 0 && plan_.graph[node.source.item].role() == Role::Library;  // work that has its place
      feeds[at] = feeds[at] && read[at] && !stays[at] && !call;
      for (const int before : node.before) {
        const auto other = static_cast<std::size_t>(before);
        read[other] = true;
        feeds[other] = feeds[other] && (feeds[at] || effect(node) != Effect::None);
      }
    }
    int gather = std::numeric_limits<int>::max();  // where the one before would be in program order
    for (const int u : order) {
      Candidate& node = source(u);
      const Effect kind = effect(node);
      if (kind == Effect::None && !feeds[index(u)]) continue;
      if (kind == Effect::Always) continue;  // a program that sends, receives or waits says when
      if (kind != Effect::None && LoopOp::of(*plan_.graph[node.source.item].op)) continue;  // mostly work, which has its place
      int key = -1;
      for (const int b : node.before) key = std::max(key, source(b).key);
      if (kind != Effect::None && plan_.graph[node.source.item].as<LibraryOp>().makes_anew())
        key = std::max(key, std::exchange(gather, node.last));
      node.key = std::min(key, node.last);
    }
  }

  const Plan& plan_;
  std::vector<int> unit_of_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<StepSource> sources_in_order(const Plan& plan, Steps steps) { return Orderer(plan, steps).run(); }

}  // namespace tegula::compile
