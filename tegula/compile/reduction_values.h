#pragma once
// What a reduction begins with and how two of its values go together, as tile code.

#include "tegula/tile/builder.h"

namespace tegula::compile {

/// The value that changes nothing, a scalar.
tile::Value identity_value(tile::Builder& builder, tile::Reduction kind, DType dtype);
tile::Value combine(tile::Reduction kind, tile::Value a, tile::Value b);

}  // namespace tegula::compile
