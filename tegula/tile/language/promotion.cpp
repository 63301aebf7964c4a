#include "tegula/tile/language/promotion.h"

#include <utility>

namespace tegula::tile::language {
namespace {

int kind(DType dtype) { return is_float(dtype) ? 2 : dtype == DType::boolean ? 0 : 1; }

std::optional<DType> of_floats(DType a, DType b, bool divides) {
  const auto one_is = [&](DType dtype) { return a == dtype || b == dtype; };
  if (one_is(DType::f64)) return DType::f64;
  if (divides || one_is(DType::f32)) return DType::f32;
  if (one_is(DType::f16)) return one_is(DType::bf16) ? DType::f32 : DType::f16;
  if (one_is(DType::bf16)) return a == b ? DType::bf16 : DType::f32;
  if (!is_float(a) || !is_float(b)) return std::nullopt;
  return a == b ? a : DType::f16;
}

/// bool is an integer of one bit without a sign.
std::optional<DType> of_integers(DType a, DType b, bool divides) {
  const auto bits = [](DType dtype) { return dtype == DType::boolean ? 1 : 8 * static_cast<int>(size_of(dtype)); };
  const auto has_sign = [](DType dtype) { return dtype != DType::boolean && !is_unsigned(dtype); };
  if (has_sign(a) == has_sign(b)) return bits(a) > bits(b) ? a : b;
  if (divides) return std::nullopt;
  if (has_sign(a)) std::swap(a, b);
  return bits(a) >= bits(b) ? a : b;
}

}  // namespace

std::optional<DType> promoted(OperandType a, OperandType b, bool divides) {
  if (a.scalar != b.scalar) {
    const OperandType scalar = a.scalar ? a : b, tile = a.scalar ? b : a;
    if (kind(scalar.dtype) <= kind(tile.dtype)) a = b = tile;
  }
  if (is_float(a.dtype) || is_float(b.dtype)) return of_floats(a.dtype, b.dtype, divides);
  return of_integers(a.dtype, b.dtype, divides);
}

}  // namespace tegula::tile::language
