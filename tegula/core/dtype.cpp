#include "tegula/core/dtype.h"

#include <algorithm>

namespace tegula {

std::string_view name(DType dtype) {
  constexpr std::string_view names[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"};
  return names[static_cast<int>(dtype)];
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);  // the enum goes from wide to narrow, floats first
  if (is_float(a)) {
    if (a == DType::f16 && b == DType::bf16) return DType::f32;
    return a;
  }
  if (b == DType::u8 && a == DType::i8) return DType::i16;
  return a;
}

Half::Half(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000u);
  const std::uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN
    bits = static_cast<std::uint16_t>(sign | 0x7e00u);
  } else if (magnitude >= 0x477ff000u) {  // rounds to 65536 or more: infinity
    bits = static_cast<std::uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // subnormal half: the float adder does the rounding
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  } else {
    const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
    bits = static_cast<std::uint16_t>(sign | (rounded >> 13));
  }
}

Half::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude < 0x400u) {  // zero or subnormal: magnitude * 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

}  // namespace tegula
