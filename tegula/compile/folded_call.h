#pragma once
// Library calls into which more is folded than LibraryOp::Epilogue can hold.

#include "tegula/compile/graph.h"
#include "tegula/runtime/call_description.h"

namespace tegula::compile {

/// An expression folded into a convolution, or a blocked layout for the weight of a convolution or matmul.
struct Folded {
  runtime::Expression behind = {};  // its scalars are the inputs after the bias
  bool keeps_nan = true;
  runtime::Blocked blocks = {};     // input 1 has one axis and holds the weight in these blocks
  Shape weight = {};                // with blocks: the shape that input 1 had
};

/// The op with `folded` in it. With an expression, bias_axis() is -1: nothing can be folded in after it.
Ref<const Op> folded_call(const Ref<const Op>& op, Folded folded);

/// The elementwise item as an expression of the call `input`, its first input, and of numbers, its others. Empty if it reads anything else.
Expression expression_behind(const Graph& graph, const Item& item, int input);

}  // namespace tegula::compile
