#pragma once
// Calls that read their weight in blocks (runtime/blocked.h).

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// The op with input 1 of one axis, which holds the weight in these blocks; `weight` is the shape that input 1 had.
Ref<const Op> packed_call(const Ref<const Op>& op, const runtime::Blocked& blocks, const Shape& weight);

}  // namespace tegula::compile
