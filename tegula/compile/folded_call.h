#pragma once
// Calls with more than LibraryOp::Epilogue put into them.

#include "tegula/compile/graph.h"
#include "tegula/runtime/call_description.h"

namespace tegula::compile {

/// What is put into a convolution, or how the weight of one or of a product comes.
struct Folded {
  runtime::Expression behind = {};  // its numbers are inputs behind the bias
  bool keeps_nan = true;
  runtime::Blocked blocks = {};     // input 1 is one axis of memory that holds the weight in these
  Shape weight = {};                // with blocks: the shape that input 1 had
};

/// The op with that put into it. Nothing further fits behind an expression: bias_axis() is -1 then.
Ref<const Op> folded_call(const Ref<const Op>& op, Folded folded);

/// The words of an elementwise item behind `input`, of which all others are numbers; no words where it is more than a chain of those that an Expression holds.
runtime::Expression expression_behind(const Graph& graph, const Item& item, int input);

}  // namespace tegula::compile
