#pragma once
// Products of tiles.

#include <optional>

#include "tegula/tile/language/words.h"

namespace tegula::tile {

/// The rounding of f32 operands: none; TF32, whose mantissa has 10 bits; or three products of the rounded parts and the rests, without the
/// smallest product, nearly as good as f32 ("tf32x3").
enum class InputPrecision : std::uint8_t { IEEE, TF32, TF32x3 };
struct DotOptions {
  InputPrecision input_precision = InputPrecision::IEEE;  // Triton's default is TF32
  std::optional<DType> out_dtype = {};  // of the result; none: that of the sums
  /// Of floats of 8 bits: so many terms tensor cores may add up with fewer digits than f32 has (Hopper's wgmma keeps some 14 bits) before they are added to
  /// the sums as f32; a multiple of 32, at most K. 0: all of them. Other machines add up all terms as f32.
  std::int64_t max_num_imprecise_acc = 0;
};

/// a (M, K) times b (K, N), plus an accumulator (M, N); or of rank 3, (B, M, K) times (B, K, N), product by product. Operands of one dtype, or two of floats
/// of 8 bits. Sums of floats are f32, of f64 f64, of integers i32, modulo 2^32 (of u32 u32); so is the result without an accumulator, else the accumulator's
/// dtype. Throws Error for other shapes and dtypes, with them, and for a max_num_imprecise_acc that is not as said.
Tile dot(TileArg a, TileArg b, const DotOptions& options = {});
Tile dot(TileArg a, TileArg b, TileArg accumulator, const DotOptions& options = {});

/// How the operands of dot_scaled are coded: floats of 4 bits, two in a u8 (the first in its low half; 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives),
/// floats of 8 bits (as such tiles, or their codes as u8), halves.
enum class ScaledFormat : std::uint8_t { E2M1, E4M3, E5M2, BF16, FP16 };
struct NoScale {};
/// The scales of an operand: a u8 tile of E8M0 codes, x for 2^(x - 127), 255 for NaN; or NoScale().
struct ScaleArg {
  ScaleArg(NoScale) {}
  ScaleArg(const Tile& codes, Line where = Line::current()) : codes(TileArg(codes, where)) {}
  std::optional<TileArg> codes;
};
struct ScaledOptions {
  bool lhs_k_pack = true, rhs_k_pack = true;  // E2M1: the two numbers of a byte are neighbours along K; false: along the other axis
  std::optional<DType> out_dtype = {};
};
/// Triton's: lhs (…, M, K) and rhs (…, K, N), each element times its scale, multiplied; lhs_scale (…, M, K / 32), rhs_scale (…, N, K / 32). Rank 2 or
/// 3. The products and sums are f32. Throws Error for other shapes and dtypes.
Tile dot_scaled(TileArg lhs, const ScaleArg& lhs_scale, ScaledFormat lhs_format, TileArg rhs, const ScaleArg& rhs_scale,
                ScaledFormat rhs_format, const ScaledOptions& options = {});
Tile dot_scaled(TileArg lhs, const ScaleArg& lhs_scale, ScaledFormat lhs_format, TileArg rhs, const ScaleArg& rhs_scale,
                ScaledFormat rhs_format, TileArg accumulator, const ScaledOptions& options = {});

}  // namespace tegula::tile
