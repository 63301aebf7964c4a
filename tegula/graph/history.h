#pragma once
// The history that evaluated tensors keep for `grad`: the nodes they were computed from, while a handle or a consumer reaches them, within a budget.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tegula/graph/node.h"

namespace tegula {

/// The history that the values evaluated on one thread may keep alive. Beyond one of the numbers the oldest evaluations give theirs up, and
/// `grad` throws where it would need it; the last evaluation always keeps its own.
struct HistoryBudget {
  std::size_t nodes = 100'000;
  std::size_t bytes =
      std::size_t{4} << 30;  // bytes of values: computed ones, and the leaves (batches, old weights) they were computed from
  std::size_t replaced_bytes = std::size_t{256} << 20;  // bytes among these that Variables held before they were assigned: old weights
};
void set_history_budget(const HistoryBudget& budget);
HistoryBudget history_budget();

/// The evaluations of this thread, oldest first, each with its history. An evaluation leaves when the last of its values dies.
class KeptHistory {
 public:
  /// `values` were computed together, from `leaves`, by `nodes` nodes. Then the oldest evaluations give up the history beyond the budget.
  static void remember(std::span<const Ref<Node>> values, std::size_t nodes, std::span<const Node* const> leaves);

  /// To be called when a Variable gets another value while `old`, its previous value, is held elsewhere. Warns, with the line of the latest
  /// evaluation, if the evaluations of many steps keep old values.
  static void replaced(Node& old);

  /// While one lives, on any thread, no history is given up: a thread walks the inputs of nodes that have values.
  class Reader {
   public:
    Reader();
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
  };

 private:
  friend class Node;
  friend struct ThreadLedger;
  static void leave(Node& node);
  static void abandon(struct Ledger& ledger);
  static void keep_budget(struct Ledger& ledger, std::vector<Ref<Node>>& released);
  static std::string line_of(const struct Evaluation& entry);
  static std::string told_of(struct Ledger& ledger, const struct Evaluation& entry);
};

}  // namespace tegula
