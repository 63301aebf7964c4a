// Casts from and to dtypes of 8 and 16 bits, all of them: against what their codes stand for.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tegula/tegula.h"
#include "tests/support/number_formats.h"

namespace tegula {
namespace {

constexpr DType kSmallFloats[] = {f16, bf16, e4m3, e5m2};
constexpr DType kSmallIntegers[] = {i16, u16, i8, u8};

/// Every code of a dtype.
HostArray all_codes(DType dtype) {
  const std::int64_t count = std::int64_t{1} << 8 * size_of(dtype);
  const HostArray out = HostArray::empty(dtype, {count});
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(static_cast<std::byte*>(out.buffer->data()) + i * static_cast<std::int64_t>(size_of(dtype)), &i, size_of(dtype));
  return out;
}
double value_of(DType dtype, std::int64_t code) {
  if (is_float(dtype)) return test::value_of(test::format_of(dtype), static_cast<std::uint64_t>(code));
  const std::int64_t half = std::int64_t{1} << (8 * size_of(dtype) - 1);
  return static_cast<double>(is_unsigned(dtype) || code < half ? code : code - 2 * half);
}
/// The value of a number in a dtype; for an integer dtype, x is one that i32 holds.
double converted(double x, DType to) {
  if (to == f32) return x;
  if (is_float(to)) return test::nearest(test::format_of(to), x);
  const auto whole = static_cast<std::int64_t>(std::trunc(x));
  const std::int64_t span = std::int64_t{1} << 8 * size_of(to), low = is_unsigned(to) ? 0 : -span / 2;
  return static_cast<double>(((whole - low) % span + span) % span + low);
}

void expect_same(double got, double want, const std::string& what) {
  if (std::isnan(want)) EXPECT_TRUE(std::isnan(got)) << what << ": got " << got;
  else EXPECT_TRUE(got == want && std::signbit(got) == std::signbit(want)) << what << ": got " << got << ", expected " << want;
}

TEST(SmallDTypes, EveryCodeStandsForItsNumber) {
  for (const auto& list : {std::span<const DType>(kSmallFloats), std::span<const DType>(kSmallIntegers)}) {
    for (const DType from : list) {
      const HostArray wide = cast(from_array(all_codes(from)), f64).to_array();
      for (std::int64_t code = 0; code < wide.size(); ++code)
        expect_same(wide.values<double>()[static_cast<std::size_t>(code)], value_of(from, code),
                    std::string(name(from)) + " " + std::to_string(code));
    }
  }
}

TEST(SmallDTypes, EveryNumberIsCastToEveryOther) {
  const auto check = [](DType from, DType to) {
    const HostArray got = cast(cast(from_array(all_codes(from)), to), f64).to_array();
    for (std::int64_t code = 0; code < got.size(); ++code) {
      const double x = value_of(from, code);
      if (!is_float(to) && !(std::fabs(x) < 0x1p31)) continue;  // means nothing
      expect_same(got.values<double>()[static_cast<std::size_t>(code)], converted(x, to),
                  std::string(name(from)) + " " + std::to_string(code) + " to " + std::string(name(to)));
    }
  };
  for (const DType from : {f16, bf16, e4m3, e5m2, i16, u16, i8, u8}) {
    for (const DType to : {f16, bf16, e4m3, e5m2, f32, i16, u16, i8, u8}) check(from, to);
  }
}

/// The boundaries of f32's rounding: each number of the format, the middle between it and the next, and the values one bit beside those.
TEST(SmallDTypes, F32IsRoundedToNearestEvenAtEveryBoundary) {
  for (const DType to : kSmallFloats) {
    const test::FloatFormat format = test::format_of(to);
    std::vector<float> x;
    const auto add = [&](double middle) {
      const auto at = static_cast<float>(middle);
      for (const float near : {at, std::nextafter(at, HUGE_VALF), std::nextafter(at, -HUGE_VALF)}) x.push_back(near), x.push_back(-near);
    };
    for (std::uint64_t code = 0; code >> (test::bits_of(format) - 1) == 0; ++code) {
      const double here = test::value_of(format, code), next = test::value_of(format, code + 1);
      if (!std::isfinite(here)) break;
      add(here);
      add(std::isfinite(next) ? (here + next) / 2 : here + (here - test::value_of(format, code - 1)) / 2);
    }
    for (const float more : {HUGE_VALF, std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(), std::nanf("")})
      x.push_back(more), x.push_back(-more);
    const HostArray got = cast(cast(tensor(x), to), f64).to_array();
    for (std::size_t i = 0; i < x.size(); ++i)
      expect_same(got.values<double>()[i], test::nearest(format, static_cast<double>(x[i])),
                  "f32 " + std::to_string(x[i]) + " to " + std::string(name(to)));
  }
}

TEST(UnsignedDTypes, WrapAroundDivideAndShiftByRulesOfTheirOwn) {
  const auto check = []<class T>(T) {
    const T most = std::numeric_limits<T>::max(), half = static_cast<T>(most / 2 + 1);
    const std::vector<T> a{most, half, most, 7, 0, most}, b{2, 3, 7, 0, 1, most};
    const Tensor x = tensor(a), y = tensor(b);
    const auto expect = [&](const Tensor& got, auto f, const char* what) {
      ASSERT_EQ(got.dtype(), dtype_of<T>()) << what;
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_EQ(got.to_host<T>()[i], f(a[i], b[i])) << what << " " << name(dtype_of<T>()) << " " << i;
    };
    expect(x + y, [](T p, T q) { return static_cast<T>(p + q); }, "+");
    expect(y - x, [](T p, T q) { return static_cast<T>(q - p); }, "-");
    expect(x * y, [](T p, T q) { return static_cast<T>(std::uint64_t{p} * q); }, "*");
    expect(-x, [](T p, T) { return static_cast<T>(0 - p); }, "negate");
    expect(floor_divide(x, y), [](T p, T q) { return q == 0 ? T{0} : static_cast<T>(p / q); }, "floor_divide");
    expect(remainder(x, y), [](T p, T q) { return q == 0 ? T{0} : static_cast<T>(p % q); }, "remainder");
    expect(fmod(x, y), [](T p, T q) { return q == 0 ? T{0} : static_cast<T>(p % q); }, "fmod");
    expect(minimum(x, y), [](T p, T q) { return std::min(p, q); }, "minimum");
    expect(maximum(x, y), [](T p, T q) { return std::max(p, q); }, "maximum");
    expect(right_shift(x, 3), [](T p, T) { return static_cast<T>(p >> 3); }, "right_shift");
    expect(left_shift(x, 3), [](T p, T) { return static_cast<T>(p << 3); }, "left_shift");
    expect(bitwise_not(x), [](T p, T) { return static_cast<T>(~p); }, "bitwise_not");
    expect(bitwise_xor(x, y), [](T p, T q) { return static_cast<T>(p ^ q); }, "bitwise_xor");
    expect(abs(x), [](T p, T) { return p; }, "abs");
    expect(sign(x), [](T p, T) { return static_cast<T>(p != 0); }, "sign");
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ((x < y).template to_host<bool>()[i], a[i] < b[i]);
      EXPECT_EQ((x >= y).template to_host<bool>()[i], a[i] >= b[i]);
    }
    EXPECT_EQ((x > -1).template to_host<bool>(), std::vector<bool>(a.size(), true)) << "by value";
    EXPECT_EQ((x == -1).template to_host<bool>(), std::vector<bool>(a.size(), false));
    EXPECT_EQ(max(x).template item<T>(), most);
    EXPECT_EQ(sort(x).values.template to_host<T>().back(), most);
    EXPECT_EQ(argmax(concat({y, x}, 0)).template item<std::int64_t>(), 5);
    EXPECT_EQ(sum(tensor(std::vector<T>{most, 1})).dtype(), sizeof(T) == 8 ? u64 : i64);
    EXPECT_EQ(cast(cast(x, f64), dtype_of<T>()).template to_host<T>()[1], half);
    std::ostringstream text;
    text << tensor(std::vector<T>{most, 1});
    EXPECT_NE(text.str().find(std::to_string(most)), std::string::npos) << text.str();
  };
  check(std::uint8_t{}), check(std::uint16_t{}), check(std::uint32_t{}), check(std::uint64_t{});
}

TEST(UnsignedDTypes, AreConvertedExactlyWhereTheOtherHoldsThem) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::vector<std::uint64_t> all{0, 1, 0xffffffff, std::uint64_t{1} << 63, kMost};
  EXPECT_EQ(cast(tensor(all), i64).to_host<std::int64_t>(),
            (std::vector<std::int64_t>{0, 1, 0xffffffff, std::numeric_limits<std::int64_t>::min(), -1}));
  EXPECT_EQ(cast(tensor(all), u32).to_host<std::uint32_t>(), (std::vector<std::uint32_t>{0, 1, 0xffffffff, 0, 0xffffffff}));
  EXPECT_EQ(cast(tensor(all), f64).to_host<double>(), (std::vector<double>{0, 1, 4294967295.0, 0x1p63, 0x1p64}));
  EXPECT_EQ(cast(tensor(std::vector<std::int32_t>{-1, 5}), u64).to_host<std::uint64_t>(), (std::vector<std::uint64_t>{kMost, 5}));
  EXPECT_EQ(cast(tensor(std::vector<std::int32_t>{-1, 5}), u32).to_host<std::uint32_t>(), (std::vector<std::uint32_t>{0xffffffff, 5}));
  // Floats beyond the range become its end that is nearer.
  const std::vector<double> far{-1, 0.9, 4294967295.9, 0x1p32, 0x1p63, 0x1p64, 1e300};
  EXPECT_EQ(cast(tensor(far), u32).to_host<std::uint32_t>(),
            (std::vector<std::uint32_t>{0, 0, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}));
  EXPECT_EQ(cast(tensor(far), u64).to_host<std::uint64_t>(),
            (std::vector<std::uint64_t>{0, 0, 0xffffffff, std::uint64_t{1} << 32, std::uint64_t{1} << 63, kMost, kMost}));
}

TEST(UnsignedDTypes, NumbersBeyondI64AreKeptExactly) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(full({2}, kMost, u64).to_host<std::uint64_t>()[1], kMost);
  EXPECT_EQ((tensor(std::vector<std::uint64_t>{kMost}) == cast(Arg(kMost), u64)).to_host<bool>()[0], true);
  EXPECT_EQ(full({}, kMost - 1, u64).item<std::uint64_t>(), kMost - 1);
}

/// Floats of 8 bits are kept, moved, chosen, compared and cast.
TEST(Float8, IsMovedComparedAndChosen) {
  for (const DType dtype : {e4m3, e5m2}) {
    const Tensor x = cast(tensor({1.f, -2.f, 448.f, 0.f, std::nanf(""), 3.2f}), dtype);
    EXPECT_EQ((x > 0.5).to_host<bool>(), (std::vector<bool>{true, false, true, false, false, true}));
    EXPECT_EQ(isnan(x).to_host<bool>()[4], true);
    EXPECT_EQ((x == x).to_host<bool>()[4], false);
    const Tensor y = where(isnan(x), 2.0, x);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(cast(take(y, tensor({5, 4}), 0), f32).to_host<float>(), (std::vector<float>{dtype == e4m3 ? 3.25f : 3.f, 2.f}));
    EXPECT_EQ(cast(flip(concat({slice(y, 0, {0, 2}), full({1}, 0.3, dtype)}, 0), {0}), f32).to_host<float>(),
              (std::vector<float>{dtype == e4m3 ? 0.3125f : 0.3125f, -2.f, 1.f}));
    std::ostringstream text;
    text << y;
    EXPECT_NE(text.str().find(std::string(name(dtype)) + "(6,)"), std::string::npos) << text.str();
  }
}

TEST(Float8, PassesDerivativesStraightThrough) {
  const Tensor x = tensor({0.3f, 700.f, -1.f});
  const Tensor dx = grad(sum(cast(cast(x, e4m3), f32) * tensor({1000.f, 2.f, 0.125f})), {x})[0];
  EXPECT_EQ(dx.to_host<float>(), (std::vector<float>{1000.f, 2.f, 0.125f}));
}

TEST(Float8, PassesDerivativesThroughCheckpointsAndFromSeveralDtypes) {
  const Tensor factor = tensor({1000.3f, 2.1f, 0.12f});
  const auto wide = [&](Tensor x) { return cast(cast(x, e4m3), f32) * factor; };
  const Tensor x = tensor({0.3f, 1.7f, -4.f});
  const auto plain = grad(sum(wide(x)), {x})[0].to_host();
  EXPECT_EQ(plain, factor.to_host());
  // The checkpoint's argument has 8 bits.
  const Tensor narrow = cast(x, e4m3);
  const Tensor kept = checkpoint([&](const std::vector<Tensor>& y) { return cast(y[0], f32) * factor; }, {narrow});
  EXPECT_EQ(grad(sum(kept), {x})[0].to_host(), plain);
  // The gradient of an element that is moved to several places is the sum of theirs.
  const Tensor rows = arange(12) * 0.37f, wide_rows = reshape(cast(rows, f32), {4, 3});
  EXPECT_EQ(grad(sum(cast(expand(narrow, {4, 3}), f32) * wide_rows), {x})[0].to_host(), sum(wide_rows, 0).to_host());
  const Tensor twice = tensor<std::int64_t>({2, 0, 2}, {3});
  EXPECT_EQ(grad(sum(cast(take(narrow, twice), f32) * factor), {x})[0].to_host(),
            take(tensor({2.1f, 0.f, 1000.3f + 0.12f}), arange(3)).to_host());
  EXPECT_EQ(vjp({expand(narrow, {2, 3})}, {ones({2, 3}, e4m3)}, {x})[0].to_host(), (ones({3}) * 2).to_host());
  EXPECT_EQ(grad(sum(cast(narrow, f32) * factor) + sum(cast(narrow, f64) * cast(factor, f64)), {x})[0].to_host(), (factor * 2).to_host());
}

}  // namespace
}  // namespace tegula
