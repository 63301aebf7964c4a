#pragma once
// Numbers that are the same for a whole program instance, as expressions over its scalars.

#include <array>
#include <cstdint>
#include <memory>

#include "tegula/tile/ir.h"

namespace tegula::tile {

constexpr int kAnyBits = 64;   // "may be negative, or as large as i64 goes"
constexpr int kManyTwos = 30;  // "divisible by any power of two that matters"

/// An i64 that is known, a scalar of the program, or made of two others. Two terms are equal when they are written alike.
struct Term {
  enum class Kind : std::uint8_t {
    Number,      // value
    Scalar,      // a scalar of the program: id
    Sum,         // of the operands, modulo 2^64
    Product,     // of the operands, modulo 2^64; a factor of -1 is the first one
    Difference,  // of the operands, exact within ±2^62, otherwise clamped
    Quotient,    // the greatest number whose product with the second operand, which is a number above 1, is at most the first one
  };
  Kind kind = Kind::Number;
  std::int64_t value = 0;
  Id id = -1;
  int twos = kManyTwos;  // 2^twos divides it
  int bits = 0;          // its magnitude is below 2^bits
  std::shared_ptr<const std::array<Term, 2>> operands{};

  static Term number(std::int64_t value);
  static Term scalar(Id id, int twos = 0, int bits = kAnyBits);
  bool known() const { return kind == Kind::Number; }
  bool is(std::int64_t number) const { return known() && value == number; }
  /// The written form; what is known of it does not count.
  bool operator==(const Term& other) const;
};
Term add(const Term& a, const Term& b);
Term multiply(const Term& a, const Term& b);
/// a - b, but never beyond ±2^62: what a coordinate is compared with must not come round at the ends of i64.
Term subtract_for_limit(const Term& a, const Term& b);
/// Rounded down, by 2 or more.
Term quotient(const Term& a, std::int64_t step);

}  // namespace tegula::tile
