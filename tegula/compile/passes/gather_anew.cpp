#include "tegula/compile/passes/gather_anew.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/regions/effect.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kOthers = 2;  // that are used in between before memory is given up

bool made_anew(const Item& item) { return item.role() == Role::Library && item.as<LibraryOp>().makes_anew(); }

class Gathers {
 public:
  explicit Gathers(const Graph& graph) : below_(graph.items.size(), -1) {
    for (int i = 0; i < graph.size(); ++i) {
      const Item& item = graph[i];
      if (made_anew(item)) below_[index(i)] = i;
      else if (item.role() == Role::View && !item.inputs.empty()) below_[index(i)] = below_[index(item.inputs[0])];
    }
  }
  /// The gather whose result, or a view of it, item i is; -1: of none.
  int below(int i) const { return below_[index(i)]; }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::vector<int> below_;
};

}  // namespace

void gather_anew(Graph& graph) {
  if (std::ranges::none_of(graph.items, made_anew)) return;
  const Gathers gathers(graph);
  Rewriter rewriter(graph);
  std::unordered_map<int, std::unordered_map<int, int>>
      again;  // of a gather: the item that stands for it and its views now, once it was made anew
  std::unordered_set<int> used_before;
  std::vector<int> recent;  // the gathers that were used last, at most kOthers, the last one in front
  // The item in the new graph that shows what item i, a view of a gather or one itself, shows.
  const auto standing = [&](auto& self, int i, int gather) -> int {
    const auto found = again.find(gather);
    if (found == again.end()) return rewriter.now(i);
    const auto known = found->second.find(i);
    if (known != found->second.end()) return known->second;
    Item view = graph[i];
    view.inputs[0] = self(self, view.inputs[0], gather);
    for (std::size_t k = 1; k < view.inputs.size(); ++k) view.inputs[k] = rewriter.now(view.inputs[k]);
    view.node = -1;
    return found->second[i] = rewriter.add(std::move(view));
  };
  const auto use = [&](int gather, std::vector<int> waits) {
    const bool first = used_before.insert(gather).second;
    const auto place = std::ranges::find(recent, gather);
    if (!first && place == recent.end()) {
      Item anew = graph[gather];
      int part = rewriter.now(anew.inputs[0]);
      if (!waits.empty()) {
        waits.insert(waits.begin(), part);
        part = rewriter.add(inserted(barrier_op(), std::move(waits), graph[anew.inputs[0]]));
      }
      anew.inputs = {part};
      anew.node = -1;
      again[gather] = {{gather, rewriter.add(std::move(anew))}};
    }
    if (place != recent.end()) recent.erase(place);
    recent.insert(recent.begin(), gather);
    if (recent.size() > kOthers) recent.pop_back();
  };
  rewriter.each([&](int i, Item& item) {
    if (gathers.below(i) >= 0) return;  // a gather, or a view of one
    std::vector<int> used, waits;
    for (const int input : graph[i].inputs) {
      const int gather = gathers.below(input);
      if (gather >= 0 && std::ranges::find(used, gather) == used.end()) used.push_back(gather);
      if (gather < 0 && graph[input].role() != Role::Leaf && graph[input].role() != Role::Scalar && graph[input].results.empty())
        waits.push_back(rewriter.now(input));
    }
    for (const int gather : used) use(gather, waits);
    for (std::size_t k = 0; k < item.inputs.size(); ++k) {
      const int old = graph[i].inputs[k], gather = gathers.below(old);
      if (gather >= 0) item.inputs[k] = standing(standing, old, gather);
    }
  });
  graph = rewriter.finish();
}

}  // namespace tegula::compile
