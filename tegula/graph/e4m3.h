#pragma once
// E4M3: numbers of 8 bits with 4 of exponent and 3 of mantissa, multiples of 2^-9 up to 448, one NaN, no infinity (Micikevicius et al.,
// "FP8 Formats for Deep Learning", 2022). A tensor is held as codes times one factor, a power of two, so that a code times the factor is
// exact in f32 and bf16.

#include "tegula/core/ref.h"
#include "tegula/graph/op.h"

namespace tegula {

/// (largest magnitude, f32 ()) -> the factor, f32 (): the least power of two that brings the magnitude to 448 or below; at least 2^-100, and
/// 1 for 0, infinity and NaN.
const Ref<const Op>& e4m3_factor_op();
/// (x, factor ()) -> x in x's dtype, each element the nearest code (ties to even, beyond 448 to 448, NaN kept) times the factor. Its gradient
/// is that of x (straight through).
const Ref<const Op>& e4m3_round_op();
/// (x, factor ()) -> the codes, u8: sign, exponent + 7, mantissa.
const Ref<const Op>& e4m3_encode_op();
/// (codes u8, factor) of one shape -> f32: the codes' values, times the factor; exact.
const Ref<const Op>& e4m3_decode_op();
/// A factor, f32 -> its exponent + 127, u8, and back: E8M0 (Open Compute Project, "OCP Microscaling Formats (MX) Specification", 2023).
const Ref<const Op>& e8m0_encode_op();
const Ref<const Op>& e8m0_decode_op();

}  // namespace tegula
