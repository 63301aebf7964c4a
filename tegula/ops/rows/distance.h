#pragma once
// Distances and similarities of vectors.

#include "tegula/graph/tensor.h"

namespace tegula {

/// a · b / (max(‖a‖₂, eps) * max(‖b‖₂, eps)) along an axis, which goes; the other sizes broadcast. Float dtypes, halves computed in f32.
Tensor cosine_similarity(Arg a, Arg b, int axis = 1, double eps = 1e-8);

/// a (…, P, D), b (…, R, D) -> (…, P, R): (Σ |a[p] - b[r]|^p)^(1/p), p as in norm() (0, infinity too); leading axes broadcast. Computed from the
/// differences themselves, so near points keep their digits (PyTorch's "donot_use_mm_for_euclid_dist"), and never with all of them in memory. If a
/// distance is 0, its gradient is 0. Float dtypes, halves computed in f32.
Tensor cdist(Arg a, Arg b, double p = 2);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> distance_cases();

}  // namespace tegula
