#include "tegula/compile/passes/stagger_exchanges.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "tegula/compile/list_schedule.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/regions/effect.h"

namespace tegula::compile {
namespace {

bool exchanges(const Item& item) { return effect_of(*item.op) != Effect::None; }
bool works_long(const Item& item) { return !exchanges(item) && (item.role() == Role::Library || item.role() == Role::Kernel); }

class Stagger {
 public:
  explicit Stagger(const Graph& graph)
      : graph_(graph),
        depth_(graph.items.size()),
        worked_(depth_.size()),
        is_long_(depth_.size()),
        leads_(depth_.size()),
        moves_(depth_.size()),
        behind_(depth_.size(), -1),
        stretch_(depth_.size(), -1),
        waits_(depth_.size(), -1),
        key_(depth_.size(), {-1, 0, 0}),
        in_way_(depth_.size()) {
    int stretches = 0;
    for (int i = 0; i < graph.size(); ++i) {
      const Item& item = graph[i];
      bool moves = item.inputs.empty() && item.role() != Role::Scalar, worked = works_long(item);
      if (item.role() == Role::Leaf) moves = !graph.leaves[index(item.slot)].steady;
      for (const int input : item.inputs) {
        depth_[index(i)] = std::max(depth_[index(i)], depth_[index(input)]);
        behind_[index(i)] = std::max(behind_[index(i)], behind_[index(input)]);
        moves = moves || moves_[index(input)];
      }
      for (const int input : item.inputs) worked = worked || (worked_[index(input)] && depth_[index(input)] == depth_[index(i)]);
      moves_[index(i)] = moves;
      worked_[index(i)] = worked && !exchanges(item);
      if (!exchanges(item)) continue;
      const int alone = takes_turns(*item.op) ? 0 : 1;
      stretches += alone;
      stretch_[index(i)] = stretches;
      stretches += alone;
      is_long_[index(i)] = worked && alone == 0;
      if (is_long_[index(i)]) ++depth_[index(i)];
      if (is_long_[index(i)] || behind_[index(i)] < 0) behind_[index(i)] = i;
      order_.push_back(i);
    }
    for (int i = graph.size(); i-- > 0;) {
      for (const int input : graph[i].inputs)
        if (leads_[index(i)] || is_long_[index(i)]) leads_[index(input)] = true;
    }
    // One that has little ahead of it comes right behind the one it follows.
    std::ranges::stable_sort(order_, {}, [&](int i) { return std::tuple(stretch_[index(i)], depth_[index(i)], behind_[index(i)]); });
  }

  /// True if two successive long exchanges of a stretch, on which later long exchanges depend, have the same depth.
  bool applies() const {
    bool any = false;
    int before = -1;
    for (const int i : order_) {
      if (!leads_long(i)) continue;
      any = any || (before >= 0 && in_one_stretch(before, i) && depth_[index(i)] == depth_[index(before)]);
      before = i;
    }
    return any;
  }

  Graph run() {
    int before = -1;             // the one before with long work ahead of it
    std::vector<int> following;  // those since then that take turns, with none
    const auto emit_following = [&] {
      for (const int exchange : std::exchange(following, {})) emit_all(way_to(exchange));
    };
    for (const int exchange : order_) {
      if (!leads_long(exchange)) {
        following.push_back(exchange);
        if (!takes_turns(*graph_[exchange].op)) emit_following(), ++rounds_;
        continue;
      }
      std::vector<int> way = way_to(exchange);
      const auto is_following = [&](int i) { return i != exchange && exchanges(graph_[i]); };
      if (std::ranges::any_of(way, is_following)) emit_following(), way = way_to(exchange);
      if (before >= 0 && in_one_stretch(before, exchange)) wait(way, graph_[before].inputs[0]);
      // Operands of the following exchanges come after the other part's matmuls, which then get no memory that an exchange still reads.
      way.pop_back();
      emit_all(way);
      emit_following();
      emit(exchange);
      ++rounds_;
      before = exchange;
    }
    emit_following();
    Rewriter rewriter(graph_);
    rewriter.each(order(), [&](int i, Item& item) {
      if (const int value = waits_[index(i)]; value >= 0)
        item.inputs[0] = rewriter.insert(barrier_op(), {item.inputs[0], rewriter.now(value)}, rewriter.out()[item.inputs[0]]);
    });
    return rewriter.finish();
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  bool leads_long(int exchange) const { return is_long_[index(exchange)] && leads_[index(exchange)]; }
  bool in_one_stretch(int a, int b) const { return stretch_[index(a)] == stretch_[index(b)]; }

  /// The exchange and its dependences that are not emitted yet, in order.
  std::vector<int> way_to(int exchange) {
    std::vector<int> way{exchange};
    in_way_[index(exchange)] = true;
    for (std::size_t k = 0; k < way.size(); ++k) {
      for (const int input : graph_[way[k]].inputs) {
        if (is_emitted(input) || in_way_[index(input)]) continue;
        in_way_[index(input)] = true;
        way.push_back(input);
      }
    }
    for (const int i : way) in_way_[index(i)] = false;
    std::ranges::sort(way);
    return way;
  }

  /// Makes the first items on the way wait for `value`, except those that depend on weights only.
  void wait(const std::vector<int>& way, int value) {
    std::vector<bool> begun(way.size());  // it, or what it looks at, is work on the way
    const auto is_begun = [&](int input) {
      const auto at = std::ranges::lower_bound(way, input);
      return at != way.end() && *at == input && begun[static_cast<std::size_t>(at - way.begin())];
    };
    for (std::size_t k = 0; k < way.size(); ++k) {
      const Item& item = graph_[way[k]];
      const bool behind = std::ranges::any_of(item.inputs, is_begun);
      const bool works = item.role() != Role::Leaf && item.role() != Role::Scalar && !item.shows_input() && moves_[index(way[k])];
      begun[k] = behind || works;
      if (works && !behind && !item.inputs.empty() && !item.is_part()) waits_[index(way[k])] = value;
    }
  }

  bool is_emitted(int i) const { return key_[index(i)][0] >= 0; }
  void emit_all(const std::vector<int>& items) {
    for (const int i : items) emit(i);
  }

  void emit(int i) { key_[index(i)] = {rounds_, 0, emitted_++}; }

  /// All items. Those that no exchange needs come at the end of the round in which their inputs are there.
  std::vector<int> order() {
    for (int i = 0; i < graph_.size(); ++i) {
      if (is_emitted(i)) continue;
      int round = 0;
      for (const int input : graph_[i].inputs) round = std::max(round, key_[index(input)][0]);
      key_[index(i)] = {round, 1, i};
    }
    return list_schedule(
        graph_.size(), [&](int i) -> const std::vector<int>& { return graph_[i].inputs; }, [&](int i) { return key_[index(i)]; });
  }

  const Graph& graph_;
  std::vector<int> depth_;  // of an item: how many exchanges with long work ahead of them there are one behind the other until it is there
  std::vector<bool> worked_;  // products or the like lie between the last of those and itself
  std::vector<bool> is_long_;  // it is an exchange that takes turns, with such work ahead of it
  std::vector<bool> leads_;  // an exchange with long work ahead of it needs it
  std::vector<bool> moves_;  // it is not the same in every run
  std::vector<int> behind_;  // the last exchange with long work ahead of it, or first one at all, that it comes behind or is; -1
  std::vector<int> stretch_;  // of an exchange: those that take turns and have no other between them in program order; -1 of what is none
  std::vector<int> waits_;  // the value that an item waits for; -1
  std::vector<int> order_;  // the exchanges
  std::vector<std::array<int, 3>> key_;  // of the new order: round (-1: not emitted yet), 1 if no exchange needs it, place
  int rounds_ = 0, emitted_ = 0;
  std::vector<bool> in_way_;
};

}  // namespace

void stagger_exchanges(Graph& graph) {
  if (std::ranges::count_if(graph.items, exchanges) < 2) return;
  Stagger stagger(graph);
  if (stagger.applies()) graph = stagger.run();
}

}  // namespace tegula::compile
