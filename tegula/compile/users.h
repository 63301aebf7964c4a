#pragma once
// The uses of each item: one list, which passes follow from a value to its readers, and count.

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "tegula/compile/graph.h"

namespace tegula::compile {

class Users {
 public:
  /// Input `input` of item `reader`.
  struct Use {
    int reader = -1, input = -1;
  };

  /// The uses in the graph as it is now: passes decide on the old graph while they make the new one.
  explicit Users(const Graph& graph) : first_(graph.items.size() + 1), leaves_(graph.items.size()) {
    for (const Item& item : graph.items)
      for (const int input : item.inputs) ++first_[index(input) + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    uses_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (int i = 0; i < graph.size(); ++i) {
      const std::vector<int>& inputs = graph[i].inputs;
      for (std::size_t k = 0; k < inputs.size(); ++k) uses_[next[index(inputs[k])]++] = {i, static_cast<int>(k)};
    }
    for (const int output : graph.outputs) ++leaves_[index(output)];
    for (const auto& update : graph.updates) ++leaves_[index(update.item)];
  }

  /// In the order of the readers; an item that reads it twice is there twice.
  std::span<const Use> of(int i) const { return std::span(uses_).subspan(first_[index(i)], first_[index(i) + 1] - first_[index(i)]); }
  /// True if the item leaves the graph: as a result, or as a Variable's value.
  bool leaves(int i) const { return leaves_[index(i)] > 0; }
  /// The number of inputs, results and Variables' values that the item is.
  int count(int i) const { return static_cast<int>(of(i).size()) + leaves_[index(i)]; }
  bool once(int i) const { return count(i) == 1; }
  /// The one item that reads it, however often; -1 where there are several or none, or it leaves the graph.
  int only_reader(int i) const {
    const std::span<const Use> uses = of(i);
    const bool one = !uses.empty() && !leaves(i) && std::ranges::all_of(uses, [&](const Use& use) { return use.reader == uses[0].reader; });
    return one ? uses[0].reader : -1;
  }

 private:
  std::vector<std::size_t> first_;  // where the item's uses begin; one more at the end
  std::vector<Use> uses_;
  std::vector<int> leaves_;  // how often it leaves the graph
};

/// The items that hold the results of an item, one per result; -1 for a result that nothing reads. An op with one result: the item itself.
inline std::vector<int> values_of(const Graph& graph, const Users& users, int i) {
  if (graph[i].results.empty()) return {i};
  std::vector<int> out(graph[i].results.size(), -1);
  for (const Users::Use& use : users.of(i)) out[index(result_of(graph, use.reader))] = use.reader;
  return out;
}

}  // namespace tegula::compile
