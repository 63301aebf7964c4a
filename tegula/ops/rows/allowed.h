#pragma once
// Numbers that may only be some, looked at when they are computed: probabilities, targets of -1 and 1. Class labels are checked in label.h.

#include <string_view>

#include "tegula/graph/structural.h"

namespace tegula::ops {

/// The numbers that are allowed.
enum class Allowed : std::uint8_t {
  Probability,  // in [0, 1]
  ProbabilityOrNan,  // NaN, too: its results are NaN, and show it themselves
  MinusOneOrOne,
};

/// x unchanged; when it is computed and an element of `of` (floats of the same shape) is not allowed, an Error in the name of `op`: "a `what` of 1.5,
/// expected one in [0, 1]", with the advice. Its gradient checks as well, because gradients may be computed without the value.
Tensor check_allowed(std::string_view op, const Tensor& x, const Tensor& of, Allowed allowed, std::string_view what,
                     std::string_view advice, const Line& where);

}  // namespace tegula::ops
