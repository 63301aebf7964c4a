#include "tegula/compile/passes/exchanges.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/regions/effect.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kOthers = 2;  // gathers used in between after which a gather's memory is freed

bool made_anew(const Item& item) { return item.role() == Role::Library && item.as<LibraryOp>().makes_anew(); }

/// Per item, the gather whose result (or a view of it) it is; -1: none.
std::vector<int> gathers_below(const Graph& graph) {
  std::vector<int> out(graph.items.size(), -1);
  for (int i = 0; i < graph.size(); ++i) {
    const Item& item = graph[i];
    if (made_anew(item)) out[index(i)] = i;
    else if (item.shows_input() && !item.inputs.empty()) out[index(i)] = out[index(item.inputs[0])];
  }
  return out;
}

/// The gathers that item i reads, each once.
std::vector<int> used_by(const Graph& graph, const std::vector<int>& below, int i) {
  std::vector<int> used;
  if (below[index(i)] >= 0) return used;  // a gather, or a view of one
  for (const int input : graph[i].inputs) {
    const int gather = below[index(input)];
    if (gather >= 0 && std::ranges::find(used, gather) == used.end()) used.push_back(gather);
  }
  return used;
}

/// Per item, the gathers to repeat before it for later items.
std::unordered_map<int, std::vector<int>> anew_ahead_of(const Graph& graph, const std::vector<int>& below) {
  struct Turn {
    int gather, item;  // the first user since another gather was used
  };
  std::unordered_map<int, std::vector<int>> out;
  std::unordered_set<int> used_before;
  std::vector<int> recent;  // the gathers that were used last, at most kOthers, the last one in front
  std::vector<Turn> turns;
  for (int i = 0; i < graph.size(); ++i) {
    for (const int gather : used_by(graph, below, i)) {
      const bool first = used_before.insert(gather).second;
      const auto place = std::ranges::find(recent, gather);
      if (!first && place == recent.end()) {
        auto turn = turns.rbegin();
        while (turn != turns.rend() && turn->item == i) ++turn;
        out[turn == turns.rend() ? i : turn->item].push_back(gather);
      }
      if (place != recent.end()) recent.erase(place);
      recent.insert(recent.begin(), gather);
      if (recent.size() > kOthers) recent.pop_back();
      if (turns.empty() || turns.back().gather != gather) turns.push_back({gather, i});
    }
  }
  return out;
}

}  // namespace

void gather_anew(Graph& graph) {
  if (std::ranges::none_of(graph.items, made_anew)) return;
  const std::vector<int> below = gathers_below(graph);
  const auto ahead_of = anew_ahead_of(graph, below);
  Rewriter rewriter(graph);
  std::unordered_map<int, std::unordered_map<int, int>>
      again;  // of a gather: the item that stands for it and its views now, once it was made anew
  // The item in the new graph that shows what item i, a view of a gather or one itself, shows.
  const auto standing = [&](auto& self, int i, int gather) -> int {
    const auto found = again.find(gather);
    if (found == again.end()) return rewriter.now(i);
    const auto known = found->second.find(i);
    if (known != found->second.end()) return known->second;
    std::vector<int> inputs = graph[i].inputs;
    inputs[0] = self(self, inputs[0], gather);
    for (std::size_t k = 1; k < inputs.size(); ++k) inputs[k] = rewriter.now(inputs[k]);
    return found->second[i] = rewriter.again(graph[i], std::move(inputs));
  };
  // It begins when what item i reads, beside what is gathered, is there.
  const auto make_anew = [&](int gather, int i) {
    const int whole = graph[gather].inputs[0];
    int part = rewriter.now(whole);
    std::vector<int> waits{part};
    for (const int input : graph[i].inputs) {
      const Role role = graph[input].role();
      if (below[index(input)] < 0 && role != Role::Leaf && role != Role::Scalar && graph[input].results.empty())
        waits.push_back(rewriter.now(input));
    }
    if (waits.size() > 1) part = rewriter.insert(barrier_op(), std::move(waits), graph[whole]);
    again[gather] = {{gather, rewriter.again(graph[gather], {part})}};
  };
  rewriter.each([&](int i, Item& item) {
    if (const auto found = ahead_of.find(i); found != ahead_of.end())
      for (const int gather : found->second) make_anew(gather, i);
    if (below[index(i)] >= 0) return;
    for (std::size_t k = 0; k < item.inputs.size(); ++k) {
      const int old = graph[i].inputs[k], gather = below[index(old)];
      if (gather >= 0) item.inputs[k] = standing(standing, old, gather);
    }
  });
  graph = rewriter.finish();
}

}  // namespace tegula::compile
