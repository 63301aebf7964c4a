#pragma once
// Class labels for the losses' sources: one-hot masks without a gather, and the check of their range; and that of lengths.

#include <optional>

#include "tegula/graph/structural.h"

namespace tegula::ops {

struct Classes {
  std::int64_t count = 0;
  std::optional<std::int64_t> ignored;  // a label outside [0, count) that is allowed
};

/// x (N…) unchanged; when it is computed and a label (N…, i64) is no class, an Error in the name of `op`. Its gradient checks as well,
/// because gradients may be computed without the loss.
Tensor check_labels(std::string_view op, const Tensor& x, const Tensor& labels, const Classes& classes, const Line& where);

/// values (…, integers) as i64; when they are computed and one does not lie in [least, most], an Error in the name of `op` that says `complaint`, with the
/// number in place of the %d in it, and gives `advice`, or the usual one.
Tensor check_range(std::string_view op, const Tensor& values, std::int64_t least, std::int64_t most, std::string_view complaint,
                   const Line& where, std::string_view advice = {});
/// lengths (…, integers) as i64; when they are computed and one is negative or above `most`, an Error in the name of `op`: "a length of 9, expected 0 to the
/// 5 `things`".
Tensor check_lengths(std::string_view op, const Tensor& lengths, std::int64_t most, std::string_view things, const Line& where);

/// labels (N, d…) -> booleans (N, C, d…): whether axis 1 is at the label.
Tensor one_hot_mask(const Tensor& labels, const Shape& shape, const Line& where);

}  // namespace tegula::ops
