#pragma once
// The owners of gradients: an optimiser that is given the gradients of a copy of its network would otherwise train nothing, without an error.

#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

class Cell;

/// grad() of this thread gave `gradients` with respect to these cells (nullptr: a tensor).
void note_gradients(const std::vector<Tensor>& gradients, std::vector<const Cell*> cells);
/// The cells, when `gradients` are one of the last lists that grad() gave, as it gave them; else nothing. They may be gone: addresses to compare with.
const std::vector<const Cell*>* owners_of(const std::vector<Tensor>& gradients);

}  // namespace tegula
