#include "tegula/tile/facts/term.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <utility>

namespace tegula::tile {
namespace {

constexpr int kSafeBits = 62;

/// Bits of what comes of two numbers, which may be nothing.
int either(const Term& a, const Term& b, int bits) { return std::max(a.bits, b.bits) < kAnyBits ? std::min(bits, kAnyBits) : kAnyBits; }

Term made_of(Term::Kind kind, const Term& a, const Term& b, int twos, int bits) {
  return {.kind = kind, .twos = twos, .bits = bits, .operands = std::make_shared<const std::array<Term, 2>>(std::array{a, b})};
}

std::int64_t wrapped(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

Term Term::number(std::int64_t value) {
  const int twos = value == 0 ? kManyTwos : std::min(kManyTwos, std::countr_zero(static_cast<std::uint64_t>(value)));
  const bool least = value == std::numeric_limits<std::int64_t>::min();
  return {.value = value,
          .twos = twos,
          .bits = least ? kAnyBits : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::abs(value))))};
}

Term Term::scalar(Id id, int twos, int bits) { return {.kind = Kind::Scalar, .id = id, .twos = twos, .bits = bits}; }

bool Term::operator==(const Term& other) const {
  return kind == other.kind && value == other.value && id == other.id &&
         (operands == other.operands || (operands && other.operands && *operands == *other.operands));
}

Term add(const Term& a, const Term& b) {
  if (a.known() && b.known()) return Term::number(wrapped(static_cast<std::uint64_t>(a.value) + static_cast<std::uint64_t>(b.value)));
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  return made_of(Term::Kind::Sum, a, b, std::min(a.twos, b.twos), either(a, b, std::max(a.bits, b.bits) + 1));
}

Term multiply(const Term& a, const Term& b) {
  if (a.known() && b.known()) return Term::number(wrapped(static_cast<std::uint64_t>(a.value) * static_cast<std::uint64_t>(b.value)));
  if (a.is(0) || b.is(0)) return Term::number(0);
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  const bool turned = b.is(-1);
  return made_of(Term::Kind::Product, turned ? b : a, turned ? a : b, std::min(kManyTwos, a.twos + b.twos), either(a, b, a.bits + b.bits));
}

Term subtract_for_limit(const Term& a, const Term& b) {
  if (a.bits <= kSafeBits && b.bits <= kSafeBits) return add(a, multiply(Term::number(-1), b));
  if (!a.known() || !b.known()) return made_of(Term::Kind::Difference, a, b, std::min(a.twos, b.twos), kSafeBits + 1);
  constexpr std::int64_t kMost = std::int64_t{1} << kSafeBits;
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a.value, b.value, &difference)) return Term::number(a.value < 0 ? -kMost : kMost);
  return Term::number(std::clamp(difference, -kMost, kMost));
}

Term quotient(const Term& a, std::int64_t step) {
  if (!a.known()) return made_of(Term::Kind::Quotient, a, Term::number(step), 0, a.bits);
  return Term::number(a.value / step - (a.value % step < 0));
}

}  // namespace tegula::tile
