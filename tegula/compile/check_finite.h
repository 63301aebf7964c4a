#pragma once
// TEGULA_CHECK=nan: checks the values that an evaluation computes, and keeps their history until the check.

#include <span>
#include <vector>

#include "tegula/graph/variable.h"

namespace tegula::compile {

/// The nodes below `roots` that are not known to be finite. Copies their inputs, because evaluation may clear those of the nodes.
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
