#pragma once
// Rounding to FP8.

#include "tegula/graph/tensor.h"

namespace tegula {

/// x (any shape; f32, f16 or bf16), each element rounded to the nearest E4M3 number (4 bits of exponent, 3 of mantissa; ties to even) with
/// one power-of-two factor that brings the largest magnitude to 448 or below. Shape and dtype of x. The gradient passes unchanged. This is
/// matmul's rounding of its operands under Precision::fp8. Throws Error for f64 and integers.
Tensor round_e4m3(Arg x);

/// The wire format of FP8 exchanges (MXFP8: Rouhani et al., "Microscaling data formats for deep learning", 2023): x (n, k) of f32, k a multiple of `block` ->
/// u8 (n, k + k / block). Each row has first the E4M3 codes, then the exponent of each block's factor, the least power of two that brings its largest
/// magnitude to 448 or below. A non-finite number travels as NaN. Throws Error for other dtypes and shapes.
Tensor pack_e4m3(Arg x, std::int64_t block);
/// Back to f32 (n, k), exactly.
Tensor unpack_e4m3(Arg packed, std::int64_t block);

struct OpCase;
std::vector<OpCase> e4m3_cases();

}  // namespace tegula
