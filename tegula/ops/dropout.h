#pragma once
// Dropout: random zeros while training. Layers leave it out in evaluation.

#include "tegula/ops/random.h"

namespace tegula {

/// Each element 0 with probability p, else x / (1 - p) (Srivastava et al., 2014). p in [0, 1]; p = 0 is x itself.
Tensor dropout(Arg x, double p = 0.5, Generator* generator = nullptr);
/// Whole channels: x (N, C, …), with Layout::NHWC (N, …, C), one decision for each (n, c) (Tompson et al., 2015).
Tensor dropout_channels(Arg x, double p = 0.5, Generator* generator = nullptr, AxisOrder layout = Layout::NCHW);
/// Whole samples: one decision for each position along `axis`, so that the addend of a residual sum is left out for some samples ("stochastic depth", Huang
/// et al., 2016; "drop path").
Tensor stochastic_depth(Arg x, double p = 0.5, int axis = 0, Generator* generator = nullptr);
/// For selu networks: keeps mean and variance (Klambauer et al., 2017).
Tensor alpha_dropout(Arg x, double p = 0.5, Generator* generator = nullptr);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> dropout_cases();

}  // namespace tegula
