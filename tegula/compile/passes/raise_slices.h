#pragma once
// Slices before sums.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// An elementwise item that is read only through slices is replaced by one item per slice, so that each fuses with its reader: the gates of an
/// LSTM.
///
/// An elementwise item that nothing but slices for further elementwise items read, no element more than once, becomes as many items over slices of its
/// inputs: they fuse with what reads them, instead of being stored for it (the gates of an LSTM are slices of one sum). So do the elementwise items
/// below it that nothing else reads. After the folds, which have taken what a call can compute.
void raise_slices(Graph& graph);

}  // namespace tegula::compile
