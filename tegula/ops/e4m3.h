#pragma once
// Rounding to FP8.

#include "tegula/graph/tensor.h"

namespace tegula {

/// x (any shape; f32, f16 or bf16), each element rounded to the nearest number of E4M3 (4 bits of exponent, 3 of mantissa; ties to even) under
/// one power of two that brings the largest magnitude to 448 or below. Shape and dtype of x. The gradient goes straight through. What
/// matmul does with its operands under Precision::fp8. Throws Error for f64 and integers.
Tensor round_e4m3(Arg x);

struct OpCase;
std::vector<OpCase> e4m3_cases();

}  // namespace tegula
