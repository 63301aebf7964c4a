#include "tegula/core/dtype.h"

namespace tegula {

std::string_view name(DType dtype) {
  constexpr std::string_view names[] = {"f64", "f32",  "f16", "bf16", "i64", "i32",  "i16", "i8",
                                        "u8",  "bool", "u16", "u32",  "u64", "e4m3", "e5m2"};
  return names[static_cast<int>(dtype)];
}

DType promote(DType a, DType b) {
  if (a == b || b == DType::boolean) return a;
  if (a == DType::boolean) return b;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (is_float(a)) {
    if (size_of(a) == size_of(b)) return is_float8(a) ? DType::f16 : DType::f32;  // each has numbers that the other has not
    return size_of(a) > size_of(b) ? a : b;
  }
  if (is_unsigned(a) == is_unsigned(b)) return size_of(a) > size_of(b) ? a : b;
  const DType with_sign = is_unsigned(a) ? b : a, without = is_unsigned(a) ? a : b;
  if (size_of(with_sign) > size_of(without)) return with_sign;
  return without == DType::u8 ? DType::i16 : without == DType::u16 ? DType::i32 : without == DType::u32 ? DType::i64 : DType::f64;
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

template <int kMantissa>
Float8<kMantissa>::Float8(float value) {
  using Format = Float8Format<kMantissa>;
  const auto word = std::bit_cast<std::uint32_t>(value), magnitude = word & 0x7fffffffu;
  std::uint32_t code = 0;
  if (magnitude > 0x7f800000u) {
    code = Format::kNaN;
  } else if (magnitude > Format::kLastInside) {
    code = Format::kBeyond;
  } else if (magnitude < Format::kLeastNormal) {  // the float adder does the rounding
    code = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(Format::kUnit)) - Format::kUnit;
  } else {
    code = ((magnitude + (1u << (Format::kDropped - 1)) - 1 + (magnitude >> Format::kDropped & 1u)) >> Format::kDropped) - Format::kShift;
  }
  bits = static_cast<std::uint8_t>(code | (word >> 24 & 0x80u));
}

template <int kMantissa>
Float8<kMantissa>::operator float() const {
  using Format = Float8Format<kMantissa>;
  const std::uint32_t sign = (bits & 0x80u) << 24, magnitude = bits & 0x7fu;
  if (magnitude > Format::kLastNumber) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (Format::kInfinite && magnitude == Format::kBeyond) return std::bit_cast<float>(sign | 0x7f800000u);
  if (magnitude < (1u << kMantissa)) {  // zero, or a multiple of the least number
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * std::bit_cast<float>(Format::kLeast)));
  }
  return std::bit_cast<float>(sign | (magnitude + Format::kShift) << Format::kDropped);
}

template struct Float8<3>;
template struct Float8<2>;

}  // namespace tegula
