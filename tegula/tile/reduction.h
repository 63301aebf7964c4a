#pragma once
// The begin of a reduction and the combination of two values, as tile code.

#include "tegula/tile/builder.h"

namespace tegula::tile {

/// The neutral element of the reduction: a scalar of this compute type.
Value identity_of(Builder& builder, Reduction kind, DType dtype);
Value combine(Reduction kind, Value a, Value b);

}  // namespace tegula::tile
