#pragma once
// Softmax and its relatives. Shifted by the maximum, so that no input overflows; the shift carries no gradient.

#include "tegula/graph/tensor.h"

namespace tegula {

/// exp(x_i) / Σ_j exp(x_j) along `axis`; float dtypes, halves computed in f32. An element of -inf gives 0, a row of nothing but -inf NaN.
Tensor softmax(Arg x, int axis = -1);
/// log(softmax(x)), computed as x - logsumexp(x).
Tensor log_softmax(Arg x, int axis = -1);
/// softmax(-x).
Tensor softmin(Arg x, int axis = -1);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> softmax_cases();

}  // namespace tegula
