#pragma once
// Element types and PyTorch's promotion rules.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tegula {

enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

// The short names users write: zeros({2, 3}, f32).
inline constexpr DType f64 = DType::f64, f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16, i64 = DType::i64, i32 = DType::i32,
                       i16 = DType::i16, i8 = DType::i8, u8 = DType::u8, boolean = DType::boolean;

inline constexpr DType kAllDTypes[] = {f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean};

/// Bytes of one element; a boolean takes one byte, 0 or 1.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16: return 2;
    default: return 1;
  }
}
constexpr bool is_float(DType d) { return d <= DType::bf16; }
constexpr bool is_integer(DType d) { return d >= DType::i64 && d <= DType::u8; }
constexpr bool is_half(DType d) { return d == DType::f16 || d == DType::bf16; }

/// "f32", "bool", …
std::string_view name(DType dtype);

/// PyTorch's result type for two tensors of equal standing: the smallest type that holds both categories
/// (bool < integer < float); u8 with a signed type widens; f16 with bf16 is f32.
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

/// The dtype of a C++ type; long and long long are both i64.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  else if constexpr (std::is_same_v<T, double>) return DType::f64;
  else if constexpr (std::is_same_v<T, float>) return DType::f32;
  else if constexpr (std::is_same_v<T, Half>) return DType::f16;
  else if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
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
    default: return f(bool{});
  }
}

/// Any stored element as double; i64 beyond 2^53 rounds.
template <class T>
double as_double(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return static_cast<double>(static_cast<float>(value));
  else return static_cast<double>(value);
}

/// A double stored as T; floats round to nearest, integers truncate toward zero, bool is value != 0.
template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool>) return value != 0;
  else if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(value));
  else return static_cast<T>(value);
}

}  // namespace tegula
