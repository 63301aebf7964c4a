#pragma once
// How the ranks of a group share out a layer: what a layer says of itself, and what a plan (nn/tensor_parallel.h) makes of it.

#include "tegula/dist/exchange/group.h"
#include "tegula/graph/variable.h"

namespace tegula::dist {

/// What a rank has of an activation.
enum class Placement : std::uint8_t {
  Replicated,  // all of it, as the other ranks
  Features,    // its part of the last axis
  Sequence,    // its part of the axis of steps
};

/// A field of layers that can be shared out (nn::Linear::split). One that was default-constructed leaves the layer as it is.
struct Split {
  enum class Style : std::uint8_t {
    None,
    Columns,  // of features that come out
    Rows,     // of features that go in, or of a table
    Steps,    // of sequences; parameters stay whole
  };
  // Of the layer as it is made.
  std::int64_t blocks = 1;  // equal blocks that lie side by side in what comes out: 3, queries, keys and values
  std::int64_t units = 1;  // pieces of each block that must not be cut: heads
  Style vocabulary = Style::Columns;  // what classes are: rows of a table, columns of scores

  // By the plan.
  Style style = Style::None;
  Group group = {};
  Placement input = Placement::Replicated, output = Placement::Replicated;
  Placement scores = Placement::Features;  // what a table's scores() are
  int step_axis = 1;
  std::int64_t size = 0;  // of all ranks, along the axis that is shared out

  bool is(Style s) const { return style == s; }
  /// Of n features or heads that come out, this rank's.
  std::int64_t own(std::int64_t n) const { return is(Style::Columns) ? n / group.size() : n; }
  /// x (…) with `input`'s placement, as the layer computes with it.
  Tensor enter(const Tensor& x, const Line& where) const;
  /// What the layer computed, with `output`'s placement.
  Tensor leave(const Tensor& y, const Line& where) const;
  /// A parameter that is whole on all ranks; where they see different steps their gradients are added up. Empty for an empty one.
  Tensor shared(const Variable& parameter, const Line& where) const;
};

}  // namespace tegula::dist
