// Bias, relu and expressions on rows of a finished product, and the conversions between f32 and the half types.

#include "tegula/cpu/calls/epilogue.h"

#include <algorithm>

#include "tegula/cpu/simd/vector_targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/calls/epilogue.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {  // other files use some of these names too
namespace hn = hwy::HWY_NAMESPACE;
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
      if (e.relu) x = hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);  // NaN stays NaN
      hn::BlendedStore(x, mask, d, row + j);
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
HWY_EXPORT(epilogue_f32);
HWY_EXPORT(widen_bf16);
HWY_EXPORT(narrow_bf16);
HWY_EXPORT(widen_f16);
HWY_EXPORT(narrow_f16);

template <class T>
void apply_rest(const Epilogue<T>& e, T* c, std::int64_t rows, std::int64_t columns, std::int64_t c_row) {
  if (!e.rest) return;
  for (std::int64_t i = 0; i < rows; ++i) e.rest->run(c + i * c_row, columns, {});
}

}  // namespace

void apply_epilogue(const Epilogue<float>& e, float* c, std::int64_t rows, std::int64_t columns, std::int64_t c_row) {
  if (e.column_bias || e.row_bias || e.relu) HWY_DYNAMIC_DISPATCH(epilogue_f32)(e, c, rows, columns, c_row);
  apply_rest(e, c, rows, columns, c_row);
}

void apply_epilogue(const Epilogue<double>& e, double* c, std::int64_t rows, std::int64_t columns, std::int64_t c_row) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double& x = c[i * c_row + j];
      x += (e.column_bias ? e.column_bias[j] : 0) + (e.row_bias ? e.row_bias[i] : 0);
      if (e.relu) x = x <= 0 ? 0 : x;
    }
  }
  apply_rest(e, c, rows, columns, c_row);
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
