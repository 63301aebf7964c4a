#pragma once
// Functions that builders of several kinds share.

#include "tegula/onnx/call.h"
#include "tegula/onnx/operators.h"

namespace tegula::onnx {

/// Sizes as a Shape. Throws Error for more axes than tensors have, and for negative sizes.
Shape shape_of(const Call& call, const std::vector<std::int64_t>& sizes);
/// ONNX's type of a value.
Type type_of(const Value& value);
/// x in another type, by ONNX's rules: floats of 8 bits saturate where asked for, numbers of 2 and 4 bits keep their lowest bits.
Value converted(const Call& call, const Value& x, Type to, bool saturates);
/// x limited to the numbers of an integer type, in x's own type.
Tensor saturated(const Tensor& x, Type to);
/// A reshape that moves nothing and keeps each axis in `kept`: x (…) with axes of size 1 for the others, to lie along `axis` of `rank`.
Tensor along(const Tensor& x, int axis, int rank);

}  // namespace tegula::onnx
