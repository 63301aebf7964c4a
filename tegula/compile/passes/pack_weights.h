#pragma once
// Weights in the form in which a call reads them.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// In functions that only answer, each constant weight gets an item that converts it to the blocks in which its call reads it
/// (`runtime/blocked.h`).
///
/// Puts an item before each call that would have its weight in blocks (runtime::Packing), where that stays from run to run: cut_steady keeps what it gives, as a
/// copy in another dtype or layout. Not where that would be more than twice as large, nor of weights that are sums or products, which may have to be computed
/// in every run. In graphs that only answer; behind materialize, when it is known how all lies, and before cut_steady.
void pack_weights(Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
