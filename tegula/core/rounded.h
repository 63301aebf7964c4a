#pragma once

#include "tegula/core/number.h"

namespace tegula {

/// The number as a tensor of the dtype holds it: of a float dtype the nearest one, of others itself.
inline Number rounded(const Number& number, DType dtype) {
  if (!is_float(dtype)) return number;
  return visit(dtype, [&](auto zero) { return Number(as_double(number.as<decltype(zero)>())); });
}

}  // namespace tegula
