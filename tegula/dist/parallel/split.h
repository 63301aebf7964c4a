#pragma once
// The split of a layer among the ranks of a group: the layer's own facts, and the decisions of a plan (nn/tensor_parallel.h).

#include "tegula/dist/exchange/group.h"
#include "tegula/graph/variable.h"

namespace tegula::dist {

/// A rank's share of an activation.
enum class Placement : std::uint8_t {
  Replicated,  // all of it, as the other ranks
  Features,    // its part of the last axis
  Sequence,    // its part of the axis of steps
};

/// A field of layers that can be shared out (nn::Linear::split). A default-constructed Split leaves the layer as it is.
struct Split {
  enum class Style : std::uint8_t {
    None,
    Columns,  // output features
    Rows,     // input features, or rows of a table
    Steps,    // steps of sequences; parameters stay whole
  };
  // Set by the layer's constructor.
  std::int64_t blocks = 1;  // equal blocks side by side in the output: 3, queries, keys and values
  std::int64_t units = 1;  // pieces of each block that must not be cut: heads
  Style vocabulary = Style::Columns;  // the classes: rows of a table, or columns of scores

  // The style by the plan.
  Style style = Style::None;
  Group group = {};
  Placement input = Placement::Replicated, output = Placement::Replicated;
  Placement scores = Placement::Features;  // placement of a table's scores()
  int step_axis = 1;
  std::int64_t size = 0;  // over all ranks, along the split axis

  bool is(Style s) const { return style == s; }
  /// This rank's number of n output features or heads.
  std::int64_t own(std::int64_t n) const { return is(Style::Columns) ? n / group.size() : n; }
  /// x (…) with `input`'s placement, as the layer computes with it.
  Tensor enter(const Tensor& x, const Line& where) const;
  /// The layer's result, with `output`'s placement.
  Tensor leave(const Tensor& y, const Line& where) const;
  /// A parameter that is whole on all ranks; where they see different steps their gradients are added up. Empty for an empty one.
  Tensor shared(const Variable& parameter, const Line& where) const;
};

}  // namespace tegula::dist
