// Short forms of functions where results are stored as halves, for all of them.

#include <cmath>
#include <cstring>

#include "tests/support/emulated_check.h"

namespace tegula::gpu {
namespace {

using namespace tegula::tile;

constexpr std::int64_t kCodes = 1 << 16, kTile = 4096;

/// Exact.
double value_of(std::uint16_t code) {
  const int exponent = code >> 10 & 31, mantissa = code & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (code >> 15) != 0 ? -magnitude : magnitude;
}
bool is_finite(std::uint16_t code) { return (code >> 10 & 31) != 31; }

/// Between an f16 of this size and the next.
double step_at(double x) { return std::ldexp(1, std::max(std::ilogb(std::max(std::fabs(x), 0x1p-14)), -14) - 10); }

template <class F>
std::vector<std::uint16_t> of_all_codes(F&& f) {
  Builder b("f");
  const Value from = b.pointer("x", f16, false), to = b.pointer("y", f16, true);
  const Value at = tile::row(b.program_id(0) * b.constant(kTile, i64) + b.arange(0, kTile)), x = b.load(from + at);
  b.store(to + at, f(b, x));
  const Program program = b.finish();
  std::vector<std::uint16_t> x0(kCodes), y(kCodes);
  for (std::size_t i = 0; i < x0.size(); ++i) x0[i] = static_cast<std::uint16_t>(i);
  const std::array<runtime::Argument, 2> arguments{{{.pointer = x0.data()}, {.pointer = y.data()}}};
  const runtime::ArgumentSet set{arguments.data(), {kCodes / kTile, 1, 1}};
  emulated_kernel(program)->launch({&set, 1}, {});
  return y;
}

TEST(QuickWords, ErfInF16IsRoundedOnce) {
  const auto y = of_all_codes([](Builder&, Value x) { return unary(Word::Erf, x); });
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!is_finite(static_cast<std::uint16_t>(i))) continue;
    const double x = value_of(static_cast<std::uint16_t>(i)), expected = std::erf(x);
    ASSERT_LE(std::fabs(value_of(y[i]) - expected), 0.505 * step_at(expected)) << x;
  }
}

/// The digits that 1 + erf(x) loses below zero are lost in f32 for every erf.
TEST(QuickWords, GeluInF16IsWithinHalfAStep) {
  const auto y = of_all_codes([](Builder& b, Value x) {
    const auto number = [&](double n) { return b.full({1, 1}, n, f32); };
    return number(0.5) * x * (number(1) + unary(Word::Erf, x * number(std::sqrt(0.5))));
  });
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!is_finite(static_cast<std::uint16_t>(i))) continue;
    const double x = value_of(static_cast<std::uint16_t>(i)), expected = 0.5 * x * std::erfc(-x * std::sqrt(0.5));
    ASSERT_LE(std::fabs(value_of(y[i]) - expected), 0.505 * step_at(expected) + std::fabs(x) * 0x1p-23) << x;
  }
}

}  // namespace
}  // namespace tegula::gpu
