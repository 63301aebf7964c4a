#pragma once
// Products of quantised numbers: small integers, added exactly in integers of 32 bits (ONNX's MatMulInteger and ConvInteger).

#include "tegula/graph/tensor.h"
#include "tegula/ops/products/convolution.h"

namespace tegula {

/// matmul of integers of 8 or 16 bits, with signs or without, in every mix -> i32. Sums are exact modulo 2^32. Shapes as for matmul. No gradients. Throws Error for other
/// dtypes. A zero point is subtracted before: matmul_integer(cast(a, i16) - zero, b).
Tensor matmul_integer(Arg a, Arg b);
/// Convolution of such integers -> i32: x (N, I, spatial…) or (I, spatial…), weight (O, I/groups, window…) of one to three spatial axes. Options and errors as for conv2d.
Tensor conv_integer(Arg x, Arg weight, const ConvolutionOptions& options = {});

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> integer_product_cases();

}  // namespace tegula
