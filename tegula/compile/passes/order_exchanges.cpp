#include "tegula/compile/passes/exchanges.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "tegula/compile/list_schedule.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/graph/regions/effect.h"

namespace tegula::compile {
namespace {

bool exchanges(const Item& item) { return effect_of(*item.op) != Effect::None; }
bool works_long(const Item& item) { return !exchanges(item) && (item.role() == Role::Library || item.role() == Role::Kernel); }

class Stagger {
 public:
  explicit Stagger(const Graph& graph) : graph_(graph), facts_(graph.items.size()) {
    int stretches = 0;
    for (int i = 0; i < graph.size(); ++i) {
      const Item& item = graph[i];
      Facts& own = of(i);
      bool moves = item.inputs.empty() && item.role() != Role::Scalar, worked = works_long(item);
      if (item.role() == Role::Leaf) moves = !graph.leaf(item).steady;
      for (const int input : item.inputs) {
        own.depth = std::max(own.depth, of(input).depth);
        own.behind = std::max(own.behind, of(input).behind);
        moves = moves || of(input).moves;
      }
      for (const int input : item.inputs) worked = worked || (of(input).worked && of(input).depth == own.depth);
      own.moves = moves;
      own.worked = worked && !exchanges(item);
      if (!exchanges(item)) continue;
      const int alone = takes_turns(*item.op) ? 0 : 1;
      stretches += alone;
      own.stretch = stretches;
      stretches += alone;
      own.is_long = worked && alone == 0;
      if (own.is_long) ++own.depth;
      if (own.is_long || own.behind < 0) own.behind = i;
      order_.push_back(i);
    }
    for (int i = graph.size(); i-- > 0;) {
      for (const int input : graph[i].inputs)
        if (of(i).leads || of(i).is_long) of(input).leads = true;
    }
    // One that has little ahead of it comes right behind the one it follows.
    std::ranges::stable_sort(order_, {}, [&](int i) { return std::tuple(of(i).stretch, of(i).depth, of(i).behind); });
  }

  /// True if two successive long exchanges of a stretch, on which later long exchanges depend, have the same depth.
  bool applies() const {
    bool any = false;
    int before = -1;
    for (const int i : order_) {
      if (!leads_long(i)) continue;
      any = any || (before >= 0 && in_one_stretch(before, i) && of(i).depth == of(before).depth);
      before = i;
    }
    return any;
  }

  /// All items in an order in which parts take turns; makes items wait for others (waits_for).
  std::vector<int> run() {
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
    return order();
  }

  /// The value that item i waits for; -1: none.
  int waits_for(int i) const { return of(i).waits; }

 private:
  struct Facts {
    int depth = 0;  // how many exchanges with long work ahead of them there are one behind the other until it is there
    bool worked = false;  // products or the like lie between the last of those and itself
    bool is_long = false;  // it is an exchange that takes turns, with such work ahead of it
    bool leads = false;  // an exchange with long work ahead of it needs it
    bool moves = false;  // it is not the same in every run
    bool in_way = false;
    int behind = -1;  // the last exchange with long work ahead of it, or first one at all, that it comes behind or is
    int stretch = -1;  // of an exchange: those that take turns and have no other between them in program order
    int waits = -1;  // the value that it waits for
    std::array<int, 3> key{-1, 0, 0};  // of the new order: round (-1: not emitted yet), 1 if no exchange needs it, place
  };
  Facts& of(int i) { return facts_[index(i)]; }
  const Facts& of(int i) const { return facts_[index(i)]; }
  bool leads_long(int exchange) const { return of(exchange).is_long && of(exchange).leads; }
  bool in_one_stretch(int a, int b) const { return of(a).stretch == of(b).stretch; }

  /// The exchange and its dependences that are not emitted yet, in order.
  std::vector<int> way_to(int exchange) {
    std::vector<int> way{exchange};
    of(exchange).in_way = true;
    for (std::size_t k = 0; k < way.size(); ++k) {
      for (const int input : graph_[way[k]].inputs) {
        if (is_emitted(input) || of(input).in_way) continue;
        of(input).in_way = true;
        way.push_back(input);
      }
    }
    for (const int i : way) of(i).in_way = false;
    std::ranges::sort(way);
    return way;
  }

  /// Makes the first items on the way wait for `value`, except those that depend on weights only.
  void wait(const std::vector<int>& way, int value) {
    std::vector<bool> begun(way.size());  // it, or what it looks at, is work on the way
    const auto is_begun = [&](int input) {
      const auto at = std::ranges::lower_bound(way, input);
      return at != way.end() && *at == input && begun[index(at - way.begin())];
    };
    for (std::size_t k = 0; k < way.size(); ++k) {
      const Item& item = graph_[way[k]];
      const bool behind = std::ranges::any_of(item.inputs, is_begun);
      const bool works = item.role() != Role::Leaf && item.role() != Role::Scalar && !item.shows_input() && of(way[k]).moves;
      begun[k] = behind || works;
      if (works && !behind && !item.inputs.empty() && !item.is_part()) of(way[k]).waits = value;
    }
  }

  bool is_emitted(int i) const { return of(i).key[0] >= 0; }
  void emit_all(const std::vector<int>& items) {
    for (const int i : items) emit(i);
  }

  void emit(int i) { of(i).key = {rounds_, 0, emitted_++}; }

  /// All items. Those that no exchange needs come at the end of the round in which their inputs are there.
  std::vector<int> order() {
    for (int i = 0; i < graph_.size(); ++i) {
      if (is_emitted(i)) continue;
      int round = 0;
      for (const int input : graph_[i].inputs) round = std::max(round, of(input).key[0]);
      of(i).key = {round, 1, i};
    }
    return list_schedule(
        graph_.size(), [&](int i) -> const std::vector<int>& { return graph_[i].inputs; }, [&](int i) { return of(i).key; });
  }

  const Graph& graph_;
  std::vector<Facts> facts_;  // by item
  std::vector<int> order_;  // the exchanges
  int rounds_ = 0, emitted_ = 0;
};

}  // namespace

void order_exchanges(Graph& graph) {
  if (std::ranges::none_of(graph.items, exchanges)) return;
  Stagger stagger(graph);
  std::vector<int> order(graph.items.size());
  std::iota(order.begin(), order.end(), 0);
  if (stagger.applies()) order = stagger.run();
  const Users users(graph);
  std::vector<int> before;  // values of the last exchange, any of which is there once it has run
  Rewriter rewriter(graph);
  const auto wait = [&](Item& item, const std::vector<int>& values) {
    std::vector<int> inputs{item.inputs[0]};
    for (const int value : values) inputs.push_back(rewriter.now(value));
    item.inputs[0] = rewriter.insert(barrier_op(), std::move(inputs), rewriter.out()[item.inputs[0]]);
  };
  rewriter.each(order, [&](int i, Item& item) {
    if (stagger.waits_for(i) >= 0) wait(item, {stagger.waits_for(i)});
    if (!exchanges(item)) return;
    if (!before.empty()) wait(item, before);
    before = values_of(graph, users, i);
    std::erase(before, -1);
  });
  graph = rewriter.finish();
}

}  // namespace tegula::compile
