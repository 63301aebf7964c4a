#pragma once
// Pieces of joins are stored where they belong.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// The producer of a join's piece (`concat`, `stack`, gradients of slices) stores it inside the join; producers are programs and calls
/// (`graph/slices.h`).
///
/// `concat`, `stack`, and the gradient of slices are storage, not work: whoever computes a piece stores it within the join (Item::within), with
/// the join's strides: programs, and calls that take slices (LibraryOp::takes_slice). A piece that cannot be stored there is copied into its part by an
/// elementwise item, which joins the program that computes it: it belongs to another join or is a result, it is no value of its own (a slice, an
/// argument), its rows would be too short, or a call that reads or makes it takes no such slice, or somebody who reads it asks for another layout.
/// A row-major join of nothing but such pieces that no program computes stays a kernel.
///
/// Behind everything that asks for copies or removes items (materialize, cut_steady), before fuse.
void store_within(Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
