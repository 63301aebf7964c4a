#pragma once
// Cross-entropy over a large vocabulary, without the scores in memory.

#include <optional>

#include "tegula/graph/tensor.h"
#include "tegula/ops/rows/loss.h"

namespace tegula {

struct LinearCrossEntropyOptions {
  Tensor bias = {};  // (classes)
  std::optional<std::int64_t> ignore_index = {};  // positions with this label do not count
  LossReduction reduction = LossReduction::Mean;
  std::int64_t chunk = 4096;  // classes whose scores are in memory at once
};

/// cross_entropy(linear(x, weight, bias), labels) for x (…, features), weight (classes, features) and labels (…), integers: forward and backward
/// hold (rows, chunk) instead of (rows, classes), and the backward pass computes the scores once more (Wijmans et al., "Cut your losses in
/// large-vocabulary language models", 2024). Throws Error for shapes that do not fit; for a label outside [0, classes) when it is computed.
Tensor linear_cross_entropy(Arg x, Arg weight, Arg labels, const LinearCrossEntropyOptions& options = {});

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> linear_cross_entropy_cases();

}  // namespace tegula
