#pragma once
// Rounding to FP8.

#include "tegula/graph/tensor.h"

namespace tegula {

/// x (any shape; f32, f16 or bf16), each element rounded to the nearest number of E4M3 (4 bits of exponent, 3 of mantissa; ties to even) under
/// one power of two that brings the largest magnitude to 448 or below. Shape and dtype of x. The gradient goes straight through. What
/// matmul does with its operands under Precision::fp8. Throws Error for f64 and integers.
Tensor round_e4m3(Arg x);

/// Numbers as they travel in FP8 (MXFP8: Rouhani et al., "Microscaling data formats for deep learning", 2023): x (n, k) of f32, k a multiple of `block` ->
/// u8 (n, k + k / block). Of each row first the E4M3 codes, then the exponent of each block's factor, the least power of two that brings its largest
/// magnitude to 448 or below. What is not finite travels as NaN. Throws Error for other dtypes and shapes.
Tensor pack_e4m3(Arg x, std::int64_t block);
/// Back to f32 (n, k), exactly.
Tensor unpack_e4m3(Arg packed, std::int64_t block);

struct OpCase;
std::vector<OpCase> e4m3_cases();

}  // namespace tegula
