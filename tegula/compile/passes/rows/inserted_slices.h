#pragma once
// Which slices of a product's results are inserted into larger tensors, so that its program may store them there in the first place.

#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/compile/passes/rows/row_product.h"
#include "tegula/compile/users.h"

namespace tegula::compile {

/// An op that inserts a slice, and the slice, of which `whole` and the operand of `at` are items.
struct InsertedSlice {
  int item = -1;
  RowSlice slice;
};

class SliceInserters {
 public:
  explicit SliceInserters(const Graph& graph);

  /// Those that insert columns of `value`, (rows, columns) in its last axis, and may do so when it is made: nothing that they need, and no check
  /// ahead of them, waits for it. From now on it comes behind all that.
  std::vector<InsertedSlice> of(int value, std::int64_t rows, std::int64_t columns);

  /// All items, each behind its inputs, and values behind what their slices need.
  std::vector<int> order() const;

 private:
  std::vector<InsertedSlice> find(int value, std::int64_t rows, std::int64_t columns) const;
  bool depends(std::vector<int> items, int on) const;

  const Graph& graph_;
  Users users_;
  std::vector<std::vector<int>> behind_;  // of each item, further ones that it comes behind
  int furthest_ = -1;  // the last of those of values
  std::vector<int> checks_;  // in order
};

}  // namespace tegula::compile
