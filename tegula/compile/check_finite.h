#pragma once
// TEGULA_CHECK=nan: what an evaluation computes is looked at, and its history kept until then.

#include <span>
#include <vector>

#include "tegula/graph/variable.h"

namespace tegula::compile {

/// What lies below some nodes, as far as it is not known to be finite: each with its inputs, which evaluation may take from it.
class History {
 public:
  explicit History(std::span<const Ref<Node>> roots);

  struct Entry {
    Ref<Node> node;
    std::vector<std::size_t> inputs;  // which entries; finite values have none
  };
  const std::vector<Entry>& entries() const { return entries_; }  // in program order
  std::size_t index_of(const Node& node) const;

 private:
  std::vector<Entry> entries_;
};

/// Around one evaluation.
class FiniteCheck {
 public:
  FiniteCheck(std::span<const Ref<Node>> asked, const std::vector<Ref<Cell>>& cells);
  /// Throws Error for the first op that made something that is not finite.
  void require() const;

 private:
  std::vector<Ref<Node>> roots_;
  History history_;
};

}  // namespace tegula::compile
