// Sweeps of rotations: a row that two of them turn stays in registers between them.

#include <algorithm>

#include "tegula/cpu/linalg/diagonals.h"
#include "tegula/cpu/simd/vector_targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/linalg/rotations.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tegula/cpu/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Turns NV registers of columns.
template <int NV, class T, class Mask>
void turn_columns(T* row, std::int64_t step, const T* c, const T* s, std::int64_t count, Mask mask) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V kept[NV];
  TEGULA_UNROLL for (int v = 0; v + 1 < NV; ++v) kept[v] = hn::LoadU(d, row + v * lanes);
  kept[NV - 1] = hn::MaskedLoad(mask, d, row + (NV - 1) * lanes);
  for (std::int64_t i = 0; i < count; ++i, row += step) {
    const V cosine = hn::Set(d, c[i]), sine = hn::Set(d, s[i]);
    const T* const next = row + step;
    TEGULA_UNROLL for (int v = 0; v + 1 < NV; ++v) {
      const V other = hn::LoadU(d, next + v * lanes);
      hn::StoreU(hn::MulAdd(cosine, kept[v], hn::Mul(sine, other)), d, row + v * lanes);
      kept[v] = hn::NegMulAdd(sine, kept[v], hn::Mul(cosine, other));
    }
    const V other = hn::MaskedLoad(mask, d, next + (NV - 1) * lanes);
    hn::BlendedStore(hn::MulAdd(cosine, kept[NV - 1], hn::Mul(sine, other)), mask, d, row + (NV - 1) * lanes);
    kept[NV - 1] = hn::NegMulAdd(sine, kept[NV - 1], hn::Mul(cosine, other));
  }
  TEGULA_UNROLL for (int v = 0; v + 1 < NV; ++v) hn::StoreU(kept[v], d, row + v * lanes);
  hn::BlendedStore(kept[NV - 1], mask, d, row + (NV - 1) * lanes);
}

template <class T>
void turn_rows(T* rows, std::int64_t step, const T* c, const T* s, std::int64_t count, std::int64_t columns) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t column = 0;
  const auto some = [&]<int NV>() HWY_ATTR {
    for (; column + (NV - 1) * lanes < columns; column += NV * lanes) {
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, columns - column - (NV - 1) * lanes)));
      turn_columns<NV>(rows + column, step, c, s, count, mask);
    }
  };
  some.template operator()<4>();
  some.template operator()<2>();
  some.template operator()<1>();
}

void turn_f32(float* rows, std::int64_t step, const float* c, const float* s, std::int64_t count, std::int64_t columns) {
  turn_rows(rows, step, c, s, count, columns);
}
void turn_f64(double* rows, std::int64_t step, const double* c, const double* s, std::int64_t count, std::int64_t columns) {
  turn_rows(rows, step, c, s, count, columns);
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
namespace {
HWY_EXPORT(turn_f32);
HWY_EXPORT(turn_f64);
}  // namespace

void rotate_in_turn(float* rows, std::int64_t step, const float* c, const float* s, std::int64_t count, std::int64_t columns) {
  HWY_DYNAMIC_DISPATCH(turn_f32)(rows, step, c, s, count, columns);
}
void rotate_in_turn(double* rows, std::int64_t step, const double* c, const double* s, std::int64_t count, std::int64_t columns) {
  HWY_DYNAMIC_DISPATCH(turn_f64)(rows, step, c, s, count, columns);
}

}  // namespace tegula::host
#endif
