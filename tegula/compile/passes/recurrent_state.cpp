#include "tegula/compile/passes/dtypes.h"

#include <typeindex>

namespace tegula::compile {
namespace {

constexpr int kDepth = 8;      // ops below an item that must agree
constexpr int kFirstSteps = 1;  // … and of a state's predecessors, whose history is shorter
constexpr int kSearched = 64;  // items that are looked at for one that agrees

std::size_t mixed(std::size_t a, std::size_t b) { return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd; }

class States {
 public:
  explicit States(const Graph& graph) : graph_(graph), below_views_(graph.items.size()), found_(graph.items.size()) {
    for (int i = 0; i < graph.size(); ++i) below_views_[index(i)] = graph[i].shows_input() ? below_views(graph[i].inputs[0]) : i;
  }

  std::vector<bool> run() {
    describe();
    for (int i = 0; i < graph_.size(); ++i) {
      if (graph_[i].role() == Role::Elementwise && graph_[i].shape.rank() > 0) search(i, described_);
    }
    for (int i = graph_.size(); i-- > 0;) {
      if (found_[index(i)]) search(i, shallow_);
    }
    return std::move(found_);
  }

 private:
  int below_views(int i) const { return below_views_[index(i)]; }

  /// The hash of an item's op type, without inputs and attributes; a leaf's includes its number, all scalars have the same.
  std::size_t own(int i) const {
    const Item& item = graph_[i];
    const Op& op = *item.op;
    const std::size_t kind = mixed(std::type_index(typeid(op)).hash_code(), static_cast<std::size_t>(item.role()));
    return item.role() == Role::Leaf ? mixed(kind, static_cast<std::size_t>(item.slot)) : kind;
  }

  // By rounds: the description of an item to a depth is made of those of its inputs to one less.
  void describe() {
    std::vector<std::size_t> next(graph_.items.size());
    std::vector<std::size_t> own_words(graph_.items.size());
    for (int i = 0; i < graph_.size(); ++i) own_words[index(i)] = own(i);
    described_ = own_words;
    for (int depth = 0; depth < kDepth; ++depth) {
      for (int i = 0; i < graph_.size(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        next[at] = own_words[at];
        for (const int input : graph_[i].inputs) next[at] = mixed(next[at], described_[index(below_views(input))]);
      }
      described_.swap(next);
      if (depth + 1 == kFirstSteps) shallow_ = described_;
    }
  }

  void search(int i, const std::vector<std::size_t>& described) {
    std::vector<int> queue{i};
    for (std::size_t k = 0; k < queue.size() && k < kSearched; ++k) {
      for (const int input : graph_[queue[k]].inputs) {
        const int base = below_views(input);
        if (graph_[base].role() != Role::Elementwise || graph_[base].shape != graph_[i].shape || base == i) continue;
        if (described[index(base)] == described[index(i)]) {
          found_[index(i)] = found_[index(base)] = true;
          return;
        }
        queue.push_back(base);
      }
    }
  }

  const Graph& graph_;
  std::vector<int> below_views_;  // of each item, the first below it that is no view
  std::vector<std::size_t> described_, shallow_;
  std::vector<bool> found_;
};

}  // namespace

std::vector<bool> recurrent_states(const Graph& graph) { return States(graph).run(); }

}  // namespace tegula::compile
