#pragma once
// Parts of tensors: values that are stored inside another one, or read from inside it.
//
// A join (concat, stack, the gradient of slices) computes nothing: whoever computes a piece stores it inside the join. A slice is read where it lies.
// A slice that an op inserts into a tensor (`update_slice`) is stored there by the product that computes it.
// T slices of one tensor and their gradients then cost the memory of one tensor, not of T; and no launch only moves numbers.
// Two passes are algebra on values and stand where values are decided: join_parts before assign_precision (a join adds nothing, so nothing in it is
// widened), sink_views after fold_epilogues (a call computes f of all of x for nothing). Two place memory and stand where storage is decided: SliceInserters
// where multiply_rows writes the program, store_within after the last pass that inserts copies.
//
// A value is refused a place by one function of each kind of place, which returns the reason: Storer::refusal (a constant offset: strides, readers and writers)
// and SliceInserters::refusal (an offset that a run reads: order).

#include <string>
#include <string_view>
#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/compile/passes/fusion/topological_order.h"
#include "tegula/compile/passes/rows/row_product.h"
#include "tegula/compile/users.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// The reason why a value is not stored in a part of another tensor; empty: it is.
using Refusal = std::string_view;

/// A sum of terms that are zero outside of disjoint slices (gradients of slices) becomes a join of the slices; sums of more than 128 terms are cut;
/// a join whose pieces are adjacent in another join becomes a piece of that.
///
/// T slices then cost what one tensor does, and not T of its size; the layers of a DenseNet, each of which reads all before it, have one piece of memory
/// (store_within). After simplify (equal terms are one item), before precision, which decides what lies in memory.
void join_parts(Graph& graph);

/// Views sink below elementwise items: one that is read only through slices is replaced by one item per slice, so that each fuses with its reader (the gates
/// of an LSTM); parameters in half are widened by the group that reads them, not by a kernel of their own.
///
/// Only elementwise items read the slices, and no element is read twice; the elementwise items below it that nothing else reads follow. The cast of a parameter
/// that is broadcast to f32 work moves behind the views, and no f32 copy is written. After the folds, which have taken what a call can compute.
void sink_views(Graph& graph);

/// The producer of a join's piece (`concat`, `stack`, gradients of slices) stores it inside the join; producers are programs and calls
/// (`graph/slices.h`).
///
/// Programs store with any strides (Item::within), calls where they take slices (LibraryOp::takes_slice). A refused piece is copied into its part by an
/// elementwise item, which joins the program that computes it. A row-major join of nothing but pieces that no program computes stays a kernel.
/// TEGULA_PRINT=within names the refused pieces. Behind everything that asks for copies or removes items (materialize, cut_steady), before fuse.
void store_within(Graph& graph, const runtime::Device& device);

/// Text for people: the pieces that store_within would copy, and the reason for each.
std::string refused_pieces(const Graph& graph, const runtime::Device& device);

/// An op that inserts a slice, and the slice, of which `whole` and the operand of `at` are items.
struct InsertedSlice {
  int item = -1;
  RowSlice slice;
};

/// Finds the slices of a product's result that are inserted into larger tensors, for its program to store them there in the first place.
class SliceInserters {
 public:
  explicit SliceInserters(const Graph& graph);

  /// Those that insert columns of `value`, (rows, columns) in its last axis, and may do so when it is made: nothing that they need, and no check
  /// ahead of them, waits for it. From now on it comes behind all that.
  std::vector<InsertedSlice> of(int value, std::int64_t rows, std::int64_t columns);

  /// All items, each behind its inputs, and values behind what their slices need.
  std::vector<int> order() const { return order_.sorted(); }

 private:
  Refusal refusal(int inserter, int value, int seen, std::int64_t rows, std::int64_t columns, RowSlice& slice);
  std::vector<int> needed_by(int inserter, const RowSlice& slice) const;

  const Graph& graph_;
  Users users_;
  TopologicalOrder order_;  // of the items
  std::vector<int> checks_;  // in order
};

}  // namespace tegula::compile
