#pragma once
// What a reduction begins with and how two of its values go together, as tile code.

#include "tegula/tile/builder.h"

namespace tegula::tile {

/// What leaves the other operand of the reduction unchanged: a scalar of this compute type.
Value identity_of(Builder& builder, Reduction kind, DType dtype);
Value combine(Reduction kind, Value a, Value b);

}  // namespace tegula::tile
