// Bias and activation on rows of a finished product, and the conversions between f32 and the half types.

#include "tegula/cpu/calls/epilogue.h"

#include <algorithm>
#include <cmath>

#include "tegula/cpu/simd/vector_targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/calls/epilogue.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>  // after highway.h

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {  // other files use some of these names too
namespace hn = hwy::HWY_NAMESPACE;
using runtime::Activation;

/// erf to 2 ulp of f32: the rational approximation that Eigen and XLA use, odd in x, on [-4, 4] (beyond, erf is ±1 in f32).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf(D d, V x) {
  x = hn::Max(hn::Set(d, -4.0f), hn::Min(x, hn::Set(d, 4.0f)));
  const V square = hn::Mul(x, x);
  const auto polynomial = [&](auto... coefficients) HWY_ATTR {
    V value = hn::Zero(d);
    ((value = hn::MulAdd(value, square, hn::Set(d, coefficients))), ...);
    return value;
  };
  const V above = polynomial(-2.72614225801306e-10f, 2.77068142495902e-08f, -2.10102402082508e-06f, -5.69250639462346e-05f,
                             -7.34990630326855e-04f, -2.95459980854025e-03f, -1.60960333262415e-02f);
  const V below =
      polynomial(-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f, -7.37332916720468e-03f, -1.42647390514189e-02f);
  return hn::Div(hn::Mul(x, above), below);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V activate(D d, V x, Activation activation) {
  const V half = hn::Set(d, 0.5f), one = hn::Set(d, 1.0f);
  V y = x;
  switch (activation) {
    case Activation::None: return x;
    case Activation::Relu: return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);  // NaN stays NaN
    case Activation::Gelu: y = hn::Mul(hn::Mul(half, x), hn::Add(one, erf(d, hn::Mul(x, hn::Set(d, 0.70710678f))))); break;
    case Activation::GeluTanh: {
      const V cubic = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f * 0.79788456f), hn::Set(d, 0.79788456f)));
      y = hn::Mul(hn::Mul(half, x), hn::Add(one, hn::Tanh(d, cubic)));
      break;
    }
    case Activation::Sigmoid: y = hn::Div(one, hn::Add(one, hn::Exp(d, hn::Min(hn::Neg(x), hn::Set(d, 88.0f))))); break;
    case Activation::Tanh: y = hn::Tanh(d, x); break;
  }
  return hn::IfThenElse(hn::IsNaN(x), x, y);  // clamps inside the approximations may drop a NaN
}

void epilogue_f32(const Epilogue<float>& e, float* c, std::int64_t rows, std::int64_t columns, std::int64_t c_row) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < rows; ++i) {
    float* row = c + i * c_row;
    const auto row_bias = hn::Set(d, e.row_bias ? e.row_bias[i] : 0.0f);
    for (std::int64_t j = 0; j < columns; j += lanes) {
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, columns - j)));
      auto x = hn::MaskedLoad(mask, d, row + j);
      if (e.column_bias) x = hn::Add(x, hn::MaskedLoad(mask, d, e.column_bias + j));
      if (e.row_bias) x = hn::Add(x, row_bias);
      hn::BlendedStore(activate(d, x, e.activation), mask, d, row + j);
    }
  }
}

void widen_bf16(const BFloat16* from, float* to, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const hn::Rebind<std::uint16_t, decltype(d)> narrow;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto word = hn::PromoteTo(bits, hn::LoadU(narrow, reinterpret_cast<const std::uint16_t*>(from) + i));
    hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(word)), d, to + i);
  }
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

void narrow_bf16(const float* from, BFloat16* to, std::int64_t count) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::RebindToFloat<decltype(d)> real;
  const hn::Rebind<std::uint16_t, decltype(d)> narrow;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(real, from + i);
    const auto word = hn::BitCast(d, value);
    const auto upper = hn::And(hn::ShiftRight<16>(word), hn::Set(d, 0xffff));
    const auto odd = hn::And(upper, hn::Set(d, 1));
    const auto sum = hn::Add(word, hn::Add(odd, hn::Set(d, 0x7fff)));  // to nearest, ties to even
    const auto rounded = hn::And(hn::ShiftRight<16>(sum), hn::Set(d, 0xffff));
    const auto quiet = hn::Or(upper, hn::Set(d, 0x40));
    const auto result = hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(value)), quiet, rounded);
    hn::StoreU(hn::DemoteTo(narrow, result), narrow, reinterpret_cast<std::uint16_t*>(to) + i);
  }
  for (; i < count; ++i) to[i] = BFloat16(from[i]);
}

void widen_f16(const Half* from, float* to, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> narrow;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2  // older targets convert subnormals by a slow path of their own
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(from) + i)), d, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
  (void)narrow, (void)lanes;
}

void narrow_f16(const float* from, Half* to, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> narrow;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::DemoteTo(narrow, hn::LoadU(d, from + i)), narrow, reinterpret_cast<hwy::float16_t*>(to) + i);
  }
#endif
  for (; i < count; ++i) to[i] = Half(from[i]);
  (void)narrow, (void)lanes;
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
namespace {
using runtime::Activation;
HWY_EXPORT(epilogue_f32);
HWY_EXPORT(widen_bf16);
HWY_EXPORT(narrow_bf16);
HWY_EXPORT(widen_f16);
HWY_EXPORT(narrow_f16);

double activate(double x, Activation activation) {
  switch (activation) {
    case Activation::None: return x;
    case Activation::Relu: return x < 0 ? 0 : x;
    case Activation::Gelu: return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440));
    case Activation::GeluTanh: return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case Activation::Sigmoid: return 1 / (1 + std::exp(-x));
    default: return std::tanh(x);
  }
}
}  // namespace

void apply_epilogue(const Epilogue<float>& e, float* c, std::int64_t rows, std::int64_t columns, std::int64_t c_row) {
  HWY_DYNAMIC_DISPATCH(epilogue_f32)(e, c, rows, columns, c_row);
}

void apply_epilogue(const Epilogue<double>& e, double* c, std::int64_t rows, std::int64_t columns, std::int64_t c_row) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double& x = c[i * c_row + j];
      x = activate(x + (e.column_bias ? e.column_bias[j] : 0) + (e.row_bias ? e.row_bias[i] : 0), e.activation);
    }
  }
}

void widen(DType dtype, const void* from, float* to, std::int64_t count) {
  if (dtype == DType::f16) HWY_DYNAMIC_DISPATCH(widen_f16)(static_cast<const Half*>(from), to, count);
  else HWY_DYNAMIC_DISPATCH(widen_bf16)(static_cast<const BFloat16*>(from), to, count);
}

void narrow(DType dtype, const float* from, void* to, std::int64_t count) {
  if (dtype == DType::f16) HWY_DYNAMIC_DISPATCH(narrow_f16)(from, static_cast<Half*>(to), count);
  else HWY_DYNAMIC_DISPATCH(narrow_bf16)(from, static_cast<BFloat16*>(to), count);
}

}  // namespace tegula::host
#endif
