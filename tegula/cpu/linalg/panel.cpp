// Panels of an LU by columns, and small triangles with many right sides by rows.

#include "tegula/cpu/linalg/panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "tegula/cpu/simd/vector_targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/linalg/panel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tegula/cpu/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// The row of the greatest number of a column from row `first` on, whose size is `most`, as update() found it.
template <class T>
std::int64_t greatest(const T* column, std::int64_t first, std::int64_t m, T most) {
  if (!(most > std::abs(column[first]))) return first;  // also where that one is NaN
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto wanted = hn::Set(d, most);
  std::int64_t i = first / lanes * lanes;
  auto found = hn::And(hn::Eq(hn::Abs(hn::Load(d, column + i)), wanted), hn::Not(hn::FirstN(d, static_cast<std::size_t>(first - i))));
  while (hn::AllFalse(d, found) && (i += lanes) < m) found = hn::Eq(hn::Abs(hn::Load(d, column + i)), wanted);
  return i + hn::FindFirstTrue(d, found);
}

/// The greatest size of numbers up to a whole register, NaN left out.
template <class T>
T greatest_size(const T* x, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto most = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += lanes) {
    const auto size = hn::Abs(hn::Load(d, x + i));
    most = hn::IfThenElse(hn::Gt(size, most), size, most);
  }
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

/// Rows behind `done` of the columns behind column `c`, minus that column's multiples by its pivot's row, or by its own numbers where the matrix is symmetric. Returns the
/// greatest size in the next one, NaN left out.
template <bool kSymmetric, class T>
T update(T* a, std::int64_t m, std::int64_t n, std::int64_t c) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d)), apart = panel_apart<T>(m), done = c + 1;
  T* const column = a + c * apart;
  V most = hn::Zero(d);
  const auto rows = [&](std::int64_t i, auto only) HWY_ATTR {
    const V l = hn::Load(d, column + i);
    for (std::int64_t j = done; j < n; ++j) {
      T* const to = a + j * apart;
      const V before = hn::Load(d, to + i), after = only(hn::NegMulAdd(l, hn::Set(d, kSymmetric ? column[j] : to[c]), before), before);
      hn::Store(after, d, to + i);
      if (kSymmetric || j > done) continue;
      const V size = only(hn::Abs(after), hn::Zero(d));
      most = hn::IfThenElse(hn::Gt(size, most), size, most);
    }
  };
  std::int64_t i = done / lanes * lanes;
  const auto above = hn::FirstN(d, static_cast<std::size_t>(done - i));
  rows(i, [&](V x, V otherwise) HWY_ATTR { return hn::IfThenElse(above, otherwise, x); });
  for (i += lanes; i < m; i += lanes) rows(i, [](V x, V) HWY_ATTR { return x; });
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

/// Divides numbers from row `first` on.
template <class T>
void scale(T* column, std::int64_t first, std::int64_t m, T divisor) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr T kLeast = 8 * std::numeric_limits<T>::min();  // whose reciprocal is a number
  const bool multiplies = std::abs(divisor) >= kLeast && std::abs(divisor) <= T(1) / kLeast;
  const auto factor = hn::Set(d, multiplies ? T(1) / divisor : divisor);
  const auto scaled = [&](auto x) HWY_ATTR { return multiplies ? hn::Mul(x, factor) : hn::Div(x, factor); };
  std::int64_t i = first / lanes * lanes;
  const auto before = hn::Load(d, column + i);
  hn::Store(hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(first - i)), before, scaled(before)), d, column + i);
  for (i += lanes; i < m; i += lanes) hn::Store(scaled(hn::Load(d, column + i)), d, column + i);
}

template <class T>
void fill_between(T* a, std::int64_t m, std::int64_t n) {
  const std::int64_t apart = panel_apart<T>(m);
  for (std::int64_t j = 0; j < n; ++j) std::fill(a + j * apart + m, a + (j + 1) * apart, T(0));
}

template <class T>
std::int32_t symmetric_panel(T* a, std::int64_t m, std::int64_t n) {
  fill_between(a, m, n);
  for (std::int64_t c = 0; c < n; ++c) {
    T* const column = a + c * panel_apart<T>(m);
    if (!(column[c] > T(0))) return static_cast<std::int32_t>(c + 1);
    column[c] = std::sqrt(column[c]);
    scale(column, c + 1, m, column[c]);
    if (c + 1 < n) update<true>(a, m, n, c);
  }
  return 0;
}

template <class T>
void panel(T* a, std::int64_t m, std::int64_t n, std::int64_t* pivots) {
  const std::int64_t apart = panel_apart<T>(m), count = std::min(m, n);
  fill_between(a, m, n);
  T most = greatest_size(a, m);
  for (std::int64_t c = 0; c < count; ++c) {
    T* const column = a + c * apart;
    const std::int64_t best = greatest(column, c, m, most);
    pivots[c] = best;
    if (best != c)
      for (std::int64_t j = 0; j < n; ++j) std::swap(a[j * apart + c], a[j * apart + best]);
    if (column[c] != T(0)) scale(column, c + 1, m, column[c]);
    if (c + 1 < n) most = update<false>(a, m, n, c);
  }
}

/// Solves NV registers of columns at once.
template <class T, int NV, class Mask>
void solve_columns(const SmallTriangle<T>& s, const T* packed, const T* factors, T* x, std::int64_t apart, Mask mask) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t step = 0; step < s.n; ++step) {
    const std::int64_t i = s.upper ? s.n - 1 - step : step;
    T* const line = x + i * apart;
    V sums[NV];
    TEGULA_UNROLL for (int v = 0; v + 1 < NV; ++v) sums[v] = hn::LoadU(d, line + v * lanes);
    sums[NV - 1] = hn::MaskedLoad(mask, d, line + (NV - 1) * lanes);
    for (std::int64_t p = 0; p < step; ++p) {
      const std::int64_t j = s.upper ? s.n - 1 - p : p;
      const T* const other = x + j * apart;
      const V factor = hn::Set(d, packed[i * kTriangle + j]);
      TEGULA_UNROLL for (int v = 0; v + 1 < NV; ++v) sums[v] = hn::NegMulAdd(factor, hn::LoadU(d, other + v * lanes), sums[v]);
      sums[NV - 1] = hn::NegMulAdd(factor, hn::MaskedLoad(mask, d, other + (NV - 1) * lanes), sums[NV - 1]);
    }
    if (!s.ones) {
      const V factor = hn::Set(d, factors[i]);
      TEGULA_UNROLL for (int v = 0; v < NV; ++v) sums[v] = hn::Div(sums[v], factor);
    }
    TEGULA_UNROLL for (int v = 0; v + 1 < NV; ++v) hn::StoreU(sums[v], d, line + v * lanes);
    hn::BlendedStore(sums[NV - 1], mask, d, line + (NV - 1) * lanes);
  }
}

template <class T>
void triangle(const SmallTriangle<T>& s, T* x, std::int64_t apart, std::int64_t right) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::array<T, kTriangle * kTriangle> packed;  // by rows, however t lies
  std::array<T, kTriangle> factors;
  for (std::int64_t i = 0; i < s.n; ++i) {
    for (std::int64_t j = s.upper ? i + 1 : 0; j < (s.upper ? s.n : i); ++j)
      packed[static_cast<std::size_t>(i * kTriangle + j)] = s.t[i * s.row + j * s.column];
    factors[static_cast<std::size_t>(i)] = s.ones ? T(1) : s.t[i * (s.row + s.column)];
  }
  std::int64_t c = 0;
  const auto some = [&]<int NV>() HWY_ATTR {
    for (; c + (NV - 1) * lanes < right; c += NV * lanes) {
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, right - c - (NV - 1) * lanes)));
      solve_columns<T, NV>(s, packed.data(), factors.data(), x + c, apart, mask);
    }
  };
  some.template operator()<4>();
  some.template operator()<2>();
  some.template operator()<1>();
}

void panel_f32(float* a, std::int64_t m, std::int64_t n, std::int64_t* pivots) { panel(a, m, n, pivots); }
void panel_f64(double* a, std::int64_t m, std::int64_t n, std::int64_t* pivots) { panel(a, m, n, pivots); }
std::int32_t symmetric_f32(float* a, std::int64_t m, std::int64_t n) { return symmetric_panel(a, m, n); }
std::int32_t symmetric_f64(double* a, std::int64_t m, std::int64_t n) { return symmetric_panel(a, m, n); }
void triangle_f32(const SmallTriangle<float>& t, float* x, std::int64_t apart, std::int64_t right) { triangle(t, x, apart, right); }
void triangle_f64(const SmallTriangle<double>& t, double* x, std::int64_t apart, std::int64_t right) { triangle(t, x, apart, right); }

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
namespace {
HWY_EXPORT(panel_f32);
HWY_EXPORT(panel_f64);
HWY_EXPORT(symmetric_f32);
HWY_EXPORT(symmetric_f64);
HWY_EXPORT(triangle_f32);
HWY_EXPORT(triangle_f64);
}  // namespace

void factor_panel(float* a, std::int64_t m, std::int64_t n, std::int64_t* pivots) { HWY_DYNAMIC_DISPATCH(panel_f32)(a, m, n, pivots); }
void factor_panel(double* a, std::int64_t m, std::int64_t n, std::int64_t* pivots) { HWY_DYNAMIC_DISPATCH(panel_f64)(a, m, n, pivots); }
std::int32_t factor_symmetric_panel(float* a, std::int64_t m, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(symmetric_f32)(a, m, n); }
std::int32_t factor_symmetric_panel(double* a, std::int64_t m, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(symmetric_f64)(a, m, n); }
void solve_triangle(const SmallTriangle<float>& t, float* x, std::int64_t apart, std::int64_t right) {
  HWY_DYNAMIC_DISPATCH(triangle_f32)(t, x, apart, right);
}
void solve_triangle(const SmallTriangle<double>& t, double* x, std::int64_t apart, std::int64_t right) {
  HWY_DYNAMIC_DISPATCH(triangle_f64)(t, x, apart, right);
}

}  // namespace tegula::host
#endif
