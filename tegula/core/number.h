#pragma once
// A number beside tensors, as the user wrote it: f64 holds integers up to 2^53 only.

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

#include "tegula/core/dtype.h"

namespace tegula {

/// A double, or a whole number of 64 bits, signed or unsigned, kept exactly.
class Number {
 public:
  constexpr Number() = default;
  template <std::floating_point T>
  constexpr Number(T value) : real_(static_cast<double>(value)) {}
  template <std::integral T>
  constexpr Number(T value)
      : real_(static_cast<double>(value)),
        whole_(within(value)),
        beyond_(!whole_),
        integer_(static_cast<std::int64_t>(value)) {}

  /// True if it was given as an integer that i64 holds.
  constexpr bool whole() const { return whole_; }
  /// Rounded to the nearest double.
  constexpr double real() const { return real_; }
  /// True if i64 holds it after truncation.
  constexpr bool fits_i64() const { return whole_ || (real_ >= -0x1p63 && real_ < 0x1p63); }
  /// True if the 64-bit integers of the dtype (u64 or i64) hold it after truncation.
  constexpr bool fits(DType dtype) const { return fits_i64() || (dtype == DType::u64 && real_ >= 0 && (beyond_ || real_ < 0x1p64)); }
  /// Truncated toward zero; a number beyond i64 becomes the nearer end of its range, NaN 0.
  constexpr std::int64_t integer() const {
    if (whole_) return integer_;
    if (real_ != real_) return 0;
    if (!fits_i64()) return real_ < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(real_);
  }
  /// Returns the number as T stores it: floats round to nearest, integers truncate and wrap, bool is value != 0.
  template <class T>
  constexpr T as() const {
    if constexpr (std::is_same_v<T, bool>) return whole_ ? integer_ != 0 : real_ != 0;
    else if constexpr (std::is_same_v<T, std::uint64_t>) return unsigned_integer();
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(integer());
    else return from_double<T>(real_);
  }
  /// The eight bytes a kernel's parameter block holds for it: a double for floats, a u64 for that, else an i64.
  constexpr std::uint64_t bits(DType dtype) const {
    if (is_float(dtype)) return std::bit_cast<std::uint64_t>(real_);
    if (dtype == DType::boolean) return static_cast<std::uint64_t>(as<bool>());
    return dtype == DType::u64 ? unsigned_integer() : static_cast<std::uint64_t>(integer());
  }

 private:
  template <class T>
  static constexpr bool within(T value) {
    if constexpr (std::is_same_v<T, bool>) return true;
    else return std::in_range<std::int64_t>(value);
  }

  constexpr std::uint64_t unsigned_integer() const {
    if (beyond_) return static_cast<std::uint64_t>(integer_);
    if (!(real_ >= 0x1p63)) return static_cast<std::uint64_t>(integer());
    return real_ < 0x1p64 ? static_cast<std::uint64_t>(real_) : std::numeric_limits<std::uint64_t>::max();
  }

  double real_ = 0;
  bool whole_ = false;
  bool beyond_ = false;  // given as an integer that u64 holds and i64 does not
  std::int64_t integer_ = 0;
};

}  // namespace tegula
