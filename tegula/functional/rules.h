#pragma once
// Rules that turn each op into the op over all examples.

#include "tegula/functional/batch.h"

namespace tegula::functional {

/// The results of the node's op over these inputs, one of which varies, with the examples along axis 0: one for each result. Throws Error where the
/// op cannot run for many examples, or only by a loop that batch.loops() forbids.
std::vector<Tensor> over_examples(Batch& batch, const Node& node, std::span<const Mapped> inputs);

}  // namespace tegula::functional
