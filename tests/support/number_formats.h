#pragma once
// The values of the codes of small dtypes, from their definitions alone: no table and no line of this is the library's.

#include <cmath>
#include <cstdint>
#include <vector>

#include "tegula/core/dtype.h"

namespace tegula::test {

struct FloatFormat {
  int exponent, mantissa;  // bits
  bool infinite = true;    // e4m3: the largest exponent has numbers, but for one code, which is NaN
};
inline FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return {5, 10};
    case DType::bf16: return {8, 7};
    case DType::e4m3: return {4, 3, false};
    case DType::e5m2: return {5, 2};
    default: return {8, 23};
  }
}
inline int bits_of(const FloatFormat& f) { return 1 + f.exponent + f.mantissa; }

inline double value_of(const FloatFormat& f, std::uint64_t code) {
  const std::uint64_t fraction = code & ((std::uint64_t{1} << f.mantissa) - 1);
  const int exponent = static_cast<int>(code >> f.mantissa) & ((1 << f.exponent) - 1), last = (1 << f.exponent) - 1, bias = last / 2;
  const double sign = code >> (f.exponent + f.mantissa) & 1 ? -1 : 1;
  if (f.infinite && exponent == last) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  if (!f.infinite && exponent == last && fraction + 1 == std::uint64_t{1} << f.mantissa) return std::nan("");
  const double digits = static_cast<double>(fraction) + (exponent == 0 ? 0 : std::ldexp(1.0, f.mantissa));
  return sign * std::ldexp(digits, (exponent == 0 ? 1 : exponent) - bias - f.mantissa);
}

/// The nearest number of the format, of two the one with the even code; what rounds beyond the largest is infinity, or NaN where there is none.
inline double nearest(const FloatFormat& f, double x) {
  if (std::isnan(x)) return x;
  static thread_local std::vector<double> numbers;  // values without a sign, by codes, and the one that would follow the largest
  static thread_local int known = 0;
  if (const int which = f.exponent * 100 + f.mantissa; known != which) {
    known = which;
    numbers.clear();
    for (std::uint64_t code = 0; code >> (f.exponent + f.mantissa) == 0 && std::isfinite(value_of(f, code)); ++code)
      numbers.push_back(value_of(f, code));
    numbers.push_back(2 * numbers.back() - numbers[numbers.size() - 2]);
  }
  const double magnitude = std::fabs(x);
  std::size_t low = 0, high = numbers.size() - 1;
  if (magnitude >= numbers[high]) low = high;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (numbers[middle] <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - numbers[low], above = numbers[high] - magnitude;
  const std::size_t best = low == high || below < above || (below == above && low % 2 == 0) ? low : high;
  if (best + 1 == numbers.size()) return f.infinite ? std::copysign(HUGE_VAL, x) : std::nan("");
  return std::copysign(numbers[best], x);
}

/// Between each two neighbours of the format the middle, what f32 has below it and above it, with both signs; zeros up to a multiple of so many.
inline std::vector<float> between_neighbours(const FloatFormat& f, std::size_t multiple) {
  std::vector<float> all;
  for (std::uint64_t code = 0; std::isfinite(value_of(f, code + 1)); ++code) {
    const auto middle = static_cast<float>((value_of(f, code) + value_of(f, code + 1)) / 2);
    for (const float one : {middle, std::nextafterf(middle, 0), std::nextafterf(middle, HUGE_VALF)})
      all.push_back(one), all.push_back(-one);
  }
  all.resize((all.size() + multiple - 1) / multiple * multiple);
  return all;
}

}  // namespace tegula::test
