#pragma once
// Element types and PyTorch's promotion rules.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

namespace tegula {

/// e4m3 and e5m2 are floats of 8 bits that tensors are stored in: they are cast, compared and moved, and nothing is computed in them.
enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean, u16, u32, u64, e4m3, e5m2 };

// The short names users write: zeros({2, 3}, f32).
inline constexpr DType f64 = DType::f64, f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16, e4m3 = DType::e4m3, e5m2 = DType::e5m2,
                       i64 = DType::i64, i32 = DType::i32, i16 = DType::i16, i8 = DType::i8, u64 = DType::u64, u32 = DType::u32,
                       u16 = DType::u16, u8 = DType::u8, boolean = DType::boolean;

inline constexpr DType kAllDTypes[] = {f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u64, u32, u16, u8, boolean};

/// True if a number from a file is the code of a dtype.
constexpr bool is_dtype(std::int64_t code) { return code >= 0 && code < static_cast<std::int64_t>(std::size(kAllDTypes)); }

/// Bytes of one element; a boolean takes one byte, 0 or 1.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::u64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::u32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16:
    case DType::u16:
    case DType::i16: return 2;
    default: return 1;
  }
}
constexpr bool is_half(DType d) { return d == DType::f16 || d == DType::bf16; }
constexpr bool is_float8(DType d) { return d == DType::e4m3 || d == DType::e5m2; }
/// Floats that are computed with in f32.
constexpr bool is_narrow_float(DType d) { return is_half(d) || is_float8(d); }
constexpr bool is_float(DType d) { return d <= DType::bf16 || is_float8(d); }
/// Numbers from 0 on; arithmetic is modulo 2^n.
constexpr bool is_unsigned(DType d) { return d == DType::u8 || d == DType::u16 || d == DType::u32 || d == DType::u64; }
constexpr bool is_integer(DType d) { return !is_float(d) && d != DType::boolean; }

/// "f32", "bool", …
std::string_view name(DType dtype);

/// PyTorch's result type for two tensors of equal standing: the smallest type that holds both categories
/// (bool < integer < float); an unsigned type with a signed one that is no wider takes the next signed one; f16 with bf16 is f32.
/// Pairs that PyTorch refuses follow NumPy: u64 with a signed type is f64; and e4m3 with e5m2 is f16, which holds both.
DType promote(DType a, DType b);

/// IEEE half precision; conversion rounds to nearest even.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
  bool operator==(const Half&) const = default;
};

/// The upper half of an f32; conversion rounds to nearest even, NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    auto word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<std::uint16_t>((word >> 16) | 0x40u);
    } else {
      bits = static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  bool operator==(const BFloat16&) const = default;
};

/// Numbers of 8 bits (Micikevicius et al., "FP8 Formats for Deep Learning", 2022), as PyTorch has them. Conversion rounds to nearest even;
/// what rounds beyond the largest number becomes NaN in E4M3, which has no infinity, and infinity in E5M2.
template <int kMantissa>
struct Float8 {
  std::uint8_t bits = 0;
  Float8() = default;
  explicit Float8(float value);
  explicit operator float() const;
  bool operator==(const Float8&) const = default;
};
/// The relation of a float8's codes and f32: all numbers but the codes are the bits of an f32.
template <int kMantissa>
struct Float8Format {
  static constexpr bool kInfinite = kMantissa == 2;
  static constexpr int kBias = kInfinite ? 15 : 7;
  static constexpr int kDropped = 23 - kMantissa;                                              // bits of an f32's mantissa
  static constexpr std::uint32_t kLeastNormal = (128u - kBias) << 23;                          // 2^(1 - bias)
  static constexpr std::uint32_t kLeast = (128u - kBias - kMantissa) << 23;                    // the least number
  static constexpr std::uint32_t kUnit = (151u - kBias - kMantissa) << 23;                     // a number whose last bit is worth that
  static constexpr std::uint32_t kShift = (127u - kBias) << kMantissa;                         // between the exponents
  static constexpr std::uint32_t kLastInside = kInfinite ? 0x476fffffu : 0x43e80000u;  // the last that rounds to the largest number
  static constexpr std::uint32_t kNaN = 0x7f, kBeyond = kInfinite ? 0x7c : kNaN;  // codes of NaN, and of numbers too large
  static constexpr std::uint32_t kLastNumber = kInfinite ? kBeyond : kNaN - 1;  // the last code that is no NaN
};
using E4M3 = Float8<3>;  // multiples of 2^-9 up to 448
using E5M2 = Float8<2>;  // multiples of 2^-16 up to 57344

/// True if T is one of the structs above: a float that C++ does not compute in.
template <class T>
constexpr bool kIsStoredFloat =
    std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || std::is_same_v<T, E4M3> || std::is_same_v<T, E5M2>;

/// The dtype of a C++ type; long and long long are both i64.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  else if constexpr (std::is_same_v<T, double>) return DType::f64;
  else if constexpr (std::is_same_v<T, float>) return DType::f32;
  else if constexpr (std::is_same_v<T, Half>) return DType::f16;
  else if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  else if constexpr (std::is_same_v<T, E4M3>) return DType::e4m3;
  else if constexpr (std::is_same_v<T, E5M2>) return DType::e5m2;
  else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T> && sizeof(T) == 8) return DType::u64;
  else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T> && sizeof(T) == 4) return DType::u32;
  else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T> && sizeof(T) == 2) return DType::u16;
  else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T> && sizeof(T) == 1) return DType::u8;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8) return DType::i64;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4) return DType::i32;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 2) return DType::i16;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 1) return DType::i8;
  else static_assert(sizeof(T) == 0, "no dtype for this C++ type");
}

/// Calls f with a value-initialised object of the C++ type that stores `dtype`: visit(d, [](auto zero) { using T = decltype(zero); … }).
template <class F>
decltype(auto) visit(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64: return f(double{});
    case DType::f32: return f(float{});
    case DType::f16: return f(Half{});
    case DType::bf16: return f(BFloat16{});
    case DType::i64: return f(std::int64_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::i8: return f(std::int8_t{});
    case DType::u8: return f(std::uint8_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u64: return f(std::uint64_t{});
    case DType::e4m3: return f(E4M3{});
    case DType::e5m2: return f(E5M2{});
    default: return f(bool{});
  }
}

/// Any stored element as double; i64 and u64 beyond 2^53 round.
template <class T>
double as_double(T value) {
  if constexpr (kIsStoredFloat<T>) return static_cast<double>(static_cast<float>(value));
  else return static_cast<double>(value);
}

/// A double stored as T; floats round to nearest, integers truncate toward zero, bool is value != 0.
template <class T>
T from_double(double value) {
  if constexpr (kIsStoredFloat<T>) return T(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool>) return value != 0;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return value < 0x1p63 ? static_cast<T>(static_cast<std::int64_t>(value)) : static_cast<T>(value);
  else if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(value));
  else return static_cast<T>(value);
}

}  // namespace tegula
