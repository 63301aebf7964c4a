#include "tegula/compile/passes/stagger_exchanges.h"

#include <algorithm>
#include <queue>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/regions/effect.h"

namespace tegula::compile {
namespace {

bool exchanges(const Item& item) { return effect_of(*item.op) != Effect::None; }
/// A sum that all ranks give the same part in, and get.
bool is_sum(const Item& item) { return item.role() == Role::Library && item.as<LibraryOp>().may_be_in_place(); }

class Stagger {
 public:
  explicit Stagger(const Graph& graph)
      : graph_(graph),
        depth_(graph.items.size()),
        stretch_(depth_.size(), -1),
        leads_(depth_.size()),
        moves_(depth_.size()),
        place_(depth_.size(), -1) {
    int stretches = 0;
    for (int i = 0; i < graph.size(); ++i) {
      const Item& item = graph[i];
      bool moves = item.inputs.empty() && item.role() != Role::Scalar;
      if (item.role() == Role::Leaf) moves = !graph.leaves[index(item.slot)].steady;
      for (const int input : item.inputs) {
        depth_[index(i)] = std::max(depth_[index(i)], depth_[index(input)]);
        moves = moves || moves_[index(input)];
      }
      moves_[index(i)] = moves;
      if (!exchanges(item)) continue;
      const int alone = takes_turns(*item.op) ? 0 : 1;
      depth_[index(i)] += 1 - alone;
      stretches += alone;
      stretch_[index(i)] = stretches;
      stretches += alone;
      order_.push_back(i);
    }
    for (int i = graph.size(); i-- > 0;) {
      if (!leads_[index(i)] && !exchanges(graph[i])) continue;
      for (const int input : graph[i].inputs) leads_[index(input)] = true;
    }
    std::ranges::stable_sort(order_, {}, [&](int i) { return std::pair(stretch_[index(i)], depth_[index(i)]); });
  }

  /// Whether two sums of a stretch that later ones need are equally far from the beginning.
  bool applies() const {
    bool any = false;
    int before = -1;
    for (const int i : order_) {
      if (!is_sum(graph_[i])) return false;
      if (!leads_[index(i)]) continue;
      any = any || (before >= 0 && in_one_stretch(before, i) && depth_[index(i)] == depth_[index(before)]);
      before = i;
    }
    return any;
  }

  Graph run() {
    count_missing();
    int before = -1;  // the sum before that later ones need
    for (const int sum : order_) {
      const std::vector<int> way = way_to(sum);
      if (leads_[index(sum)] && before >= 0 && in_one_stretch(before, sum)) wait(way, graph_[before].inputs[0]);
      for (const int i : way) emit(i);
      if (leads_[index(sum)]) before = sum;
      emit_loose();
    }
    emit_loose();
    for (int& output : out_.outputs) output = place_[index(output)];
    for (auto& update : out_.updates) update.item = place_[index(update.item)];
    return std::move(out_);
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  bool in_one_stretch(int a, int b) const { return stretch_[index(a)] == stretch_[index(b)]; }

  void count_missing() {
    readers_.resize(graph_.items.size());
    missing_.resize(graph_.items.size());
    waits_.resize(graph_.items.size(), -1);
    for (int i = 0; i < graph_.size(); ++i) {
      for (const int input : graph_[i].inputs) readers_[index(input)].push_back(i), ++missing_[index(i)];
      if (is_loose(i) && missing_[index(i)] == 0) loose_.push(i);
    }
    out_.leaves = graph_.leaves, out_.constants = graph_.constants, out_.derived = graph_.derived;
    out_.outputs = graph_.outputs, out_.updates = graph_.updates;
  }

  /// What no exchange needs.
  bool is_loose(int i) const { return !leads_[index(i)] && !exchanges(graph_[i]); }

  /// What the sum needs that is not there yet, in order, and the sum itself.
  std::vector<int> way_to(int sum) {
    std::vector<int> way{sum};
    in_way_.resize(graph_.items.size());
    in_way_[index(sum)] = true;
    for (std::size_t k = 0; k < way.size(); ++k) {
      for (const int input : graph_[way[k]].inputs) {
        if (place_[index(input)] >= 0 || in_way_[index(input)]) continue;
        in_way_[index(input)] = true;
        way.push_back(input);
      }
    }
    std::ranges::sort(way);
    return way;
  }

  /// What begins on the way, beside what is made of weights alone, waits for `value`.
  void wait(const std::vector<int>& way, int value) {
    std::vector<bool> begun(way.size());  // it, or what it looks at, is work on the way
    const auto is_begun = [&](int input) {
      const auto at = std::ranges::lower_bound(way, input);
      return at != way.end() && *at == input && begun[static_cast<std::size_t>(at - way.begin())];
    };
    for (std::size_t k = 0; k < way.size(); ++k) {
      const Item& item = graph_[way[k]];
      const bool behind = std::ranges::any_of(item.inputs, is_begun);
      const bool works = item.role() != Role::Leaf && item.role() != Role::Scalar && item.role() != Role::View && moves_[index(way[k])];
      begun[k] = behind || works;
      if (works && !behind && !item.inputs.empty() && !item.is_part()) waits_[index(way[k])] = value;
    }
  }

  void emit(int i) {
    Item item = graph_[i];
    for (int& input : item.inputs) input = place_[index(input)];
    if (const int value = waits_[index(i)]; value >= 0) {
      out_.items.push_back(inserted(barrier_op(), {item.inputs[0], place_[index(value)]}, out_[item.inputs[0]]));
      item.inputs[0] = out_.size() - 1;
    }
    out_.items.push_back(std::move(item));
    place_[index(i)] = out_.size() - 1;
    for (const int reader : readers_[index(i)]) {
      if (--missing_[index(reader)] == 0 && is_loose(reader)) loose_.push(reader);
    }
  }

  void emit_loose() {
    for (; !loose_.empty();) {
      const int i = loose_.top();
      loose_.pop();
      emit(i);
    }
  }

  const Graph& graph_;
  Graph out_;
  std::vector<int> depth_;  // of an item: how many exchanges that take turns there are one behind the other until it is there
  std::vector<int> stretch_;  // of an exchange: those that take turns and have no other between them in program order; -1 of what is none
  std::vector<bool> leads_, moves_;  // an exchange needs it; it is not the same in every run
  std::vector<int> place_;  // in the new graph, or -1
  std::vector<int> order_;  // the exchanges
  std::vector<std::vector<int>> readers_;
  std::vector<int> missing_, waits_;
  std::vector<bool> in_way_;
  std::priority_queue<int, std::vector<int>, std::greater<>> loose_;
};

}  // namespace

void stagger_exchanges(Graph& graph) {
  if (std::ranges::count_if(graph.items, exchanges) < 2) return;
  Stagger stagger(graph);
  if (stagger.applies()) graph = stagger.run();
}

}  // namespace tegula::compile
