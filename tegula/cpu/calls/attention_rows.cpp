#include "tegula/cpu/calls/attention_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tegula/cpu/simd/vector_targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/calls/attention_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tegula/cpu/simd/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {  // other files use some of these names too

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr std::int64_t kStep = static_cast<std::int64_t>(hn::MaxLanes(Tag()));

/// f(vector, how many of its elements count, where they begin) over the whole row.
template <class F>
HWY_INLINE void each_vector(std::int64_t count, F&& f) {
  std::int64_t i = 0;
  for (; i + kStep <= count; i += kStep) f(i, kStep);
  if (i < count) f(i, count - i);
}
HWY_INLINE V load(const float* x, std::int64_t count) {
  return count == kStep ? hn::LoadU(Tag(), x) : load_part(Tag(), x, static_cast<std::size_t>(count));
}
HWY_INLINE void store(V v, float* x, std::int64_t count) {
  if (count == kStep) hn::StoreU(v, Tag(), x);
  else store_part(v, Tag(), x, static_cast<std::size_t>(count));
}

float greatest_f32(const float* x, std::int64_t count, float scale) {
  const Tag d;
  const V least = hn::Set(d, -std::numeric_limits<float>::infinity()), factor = hn::Set(d, scale);
  V most = least;
  each_vector(count, [&](std::int64_t i, std::int64_t n) HWY_ATTR {
    const V v = hn::Mul(load(x + i, n), factor);
    most = hn::Max(most, n == kStep ? v : hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(n)), v, least));
  });
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

float exponentials_f32(float* x, std::int64_t count, float scale, float shift) {
  const Tag d;
  const V factor = hn::Set(d, scale), by = hn::Set(d, shift);
  V sum = hn::Zero(d);
  each_vector(count, [&](std::int64_t i, std::int64_t n) HWY_ATTR {
    const V v = Exp::call(d, hn::Sub(hn::Mul(load(x + i, n), factor), by));  // two roundings: see CMakeLists.txt
    store(v, x + i, n);
    sum = hn::Add(sum, n == kStep ? v : hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(n)), v));
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void multiply_f32(float* x, std::int64_t count, float factor) {
  const V by = hn::Set(Tag(), factor);
  each_vector(count, [&](std::int64_t i, std::int64_t n) HWY_ATTR { store(hn::Mul(load(x + i, n), by), x + i, n); });
}

void softmax_gradient_f32(const float* p, float* dp, std::int64_t count, float mean) {
  const V by = hn::Set(Tag(), mean);
  each_vector(count, [&](std::int64_t i, std::int64_t n) HWY_ATTR {
    const V weight = load(p + i, n);
    store(hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(Tag())), hn::Mul(weight, hn::Sub(load(dp + i, n), by))), dp + i, n);
  });
}

void add_multiple_f32(float factor, const float* x, float* y, std::int64_t count) {
  const V by = hn::Set(Tag(), factor);
  each_vector(count, [&](std::int64_t i, std::int64_t n) HWY_ATTR { store(hn::MulAdd(load(x + i, n), by, load(y + i, n)), y + i, n); });
}

bool holds_nan_f32(const float* x, std::int64_t count) {
  const Tag d;
  auto any = hn::IsNaN(hn::Zero(d));
  each_vector(count, [&](std::int64_t i, std::int64_t n) HWY_ATTR {
    const auto here = hn::IsNaN(load(x + i, n));
    any = hn::Or(any, n == kStep ? here : hn::And(here, hn::FirstN(d, static_cast<std::size_t>(n))));
  });
  return !hn::AllFalse(d, any);
}

float inner_product_f32(const float* x, const float* y, std::int64_t count) {
  const Tag d;
  V sum = hn::Zero(d);
  each_vector(count, [&](std::int64_t i, std::int64_t n) HWY_ATTR { sum = hn::MulAdd(load(x + i, n), load(y + i, n), sum); });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
namespace {
HWY_EXPORT(greatest_f32);
HWY_EXPORT(exponentials_f32);
HWY_EXPORT(multiply_f32);
HWY_EXPORT(softmax_gradient_f32);
HWY_EXPORT(add_multiple_f32);
HWY_EXPORT(holds_nan_f32);
HWY_EXPORT(inner_product_f32);
}  // namespace

float greatest(const float* x, std::int64_t count, float scale) { return HWY_DYNAMIC_DISPATCH(greatest_f32)(x, count, scale); }
float exponentials(float* x, std::int64_t count, float scale, float shift) {
  return HWY_DYNAMIC_DISPATCH(exponentials_f32)(x, count, scale, shift);
}
void multiply(float* x, std::int64_t count, float factor) { HWY_DYNAMIC_DISPATCH(multiply_f32)(x, count, factor); }
void softmax_gradient(const float* p, float* dp, std::int64_t count, float mean) {
  HWY_DYNAMIC_DISPATCH(softmax_gradient_f32)(p, dp, count, mean);
}
void add_multiple(float factor, const float* x, float* y, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(add_multiple_f32)(factor, x, y, count);
}
bool holds_nan(const float* x, std::int64_t count) { return HWY_DYNAMIC_DISPATCH(holds_nan_f32)(x, count); }
float inner_product(const float* x, const float* y, std::int64_t count) { return HWY_DYNAMIC_DISPATCH(inner_product_f32)(x, y, count); }

// f64 is for checks; its speed does not matter.
double greatest(const double* x, std::int64_t count, double scale) {
  double most = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, x[i] * scale);
  return most;
}
double exponentials(double* x, std::int64_t count, double scale, double shift) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += x[i] = std::exp(x[i] * scale - shift);
  return sum;
}
void multiply(double* x, std::int64_t count, double factor) {
  for (std::int64_t i = 0; i < count; ++i) x[i] *= factor;
}
void softmax_gradient(const double* p, double* dp, std::int64_t count, double mean) {
  for (std::int64_t i = 0; i < count; ++i) dp[i] = p[i] == 0 ? 0 : p[i] * (dp[i] - mean);
}
void add_multiple(double factor, const double* x, double* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += factor * x[i];
}
bool holds_nan(const double* x, std::int64_t count) {
  return std::any_of(x, x + count, [](double value) { return std::isnan(value); });
}
double inner_product(const double* x, const double* y, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace tegula::host
#endif
