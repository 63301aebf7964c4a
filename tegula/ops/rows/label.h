#pragma once
// Class labels for the losses' sources: one-hot masks without a gather, and the check of their range.

#include <optional>

#include "tegula/graph/structural.h"

namespace tegula::ops {

struct Classes {
  std::int64_t count = 0;
  std::optional<std::int64_t> ignored;  // a label outside [0, count) that is allowed
};

/// x (N…) unchanged; when it is computed and a label (N…, i64) is no class, an Error in the name of `op`. Its gradient checks as well,
/// because gradients may be computed without the loss.
Tensor check_labels(std::string_view op, const Tensor& x, const Tensor& labels, const Classes& classes, const std::source_location& where);

/// labels (N, d…) -> booleans (N, C, d…): whether axis 1 is at the label.
Tensor one_hot_mask(const Tensor& labels, const Shape& shape, const std::source_location& where);

}  // namespace tegula::ops
