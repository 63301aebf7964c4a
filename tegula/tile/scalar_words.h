#pragma once
// The elementwise words for one element.

#include <cstdint>

#include "tegula/core/dtype.h"
#include "tegula/tile/ir.h"

namespace tegula::tile {

/// One element: floats in `real`, integers, booleans and addresses in `integer`.
struct Scalar {
  double real = 0;
  std::int64_t integer = 0;
};

/// The result of an elementwise word on operands of dtype `from`, as an element of dtype `to`. `attribute` is the instruction's.
Scalar evaluate(Word word, DType from, DType to, std::int64_t attribute, const Scalar* operands);

/// f32 arithmetic rounds to float, i32 wraps; the rest is exact.
Scalar rounded(Scalar value, DType dtype);

/// a < b, a NaN counting as largest.
bool comes_before(Scalar a, Scalar b, DType dtype);

}  // namespace tegula::tile
