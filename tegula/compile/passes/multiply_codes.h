#pragma once
// FP8 products on codes.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Products of operands rounded to E4M3 become products of their codes, where the device has those.
///
/// After assign_precision: the products that are left in f64 or f32 are known then.
void multiply_codes(Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
