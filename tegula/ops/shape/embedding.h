#pragma once
// Rows of a table by number.

#include "tegula/graph/tensor.h"

namespace tegula {

/// indices (…) of an integer dtype, weight (V, D) -> (…, D): weight[indices]. Negative indices count from the end; one
/// outside [-V, V) is an Error when it is computed.
Tensor embedding(Arg indices, Arg weight);
/// The same, but row `padding_index` gets no gradient.
Tensor embedding(Arg indices, Arg weight, std::int64_t padding_index);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> embedding_cases();

}  // namespace tegula
