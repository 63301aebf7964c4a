// Tiles of every element type on the CPU: casts of all numbers of 8 and 16 bits, arithmetic, products; each at once, too, by the interpreter.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tegula/core/philox.h"
#include "tegula/tegula.h"
#include "tests/support/number_formats.h"
#include "tests/support/tile_type_kernels.h"

namespace tegula {
namespace {

using tile::OutShape;

constexpr DType kTo[] = {f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u64, u32, u16, u8};

HostArray all_codes(DType dtype) {
  const std::int64_t count = std::int64_t{1} << 8 * size_of(dtype);
  const HostArray out = HostArray::empty(dtype, {count});
  auto* const bytes = static_cast<std::byte*>(out.buffer->data());
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(bytes + i * static_cast<std::int64_t>(size_of(dtype)), &i, size_of(dtype));
  return out;
}
double value_of(DType dtype, std::int64_t code) {
  if (is_float(dtype)) return test::value_of(test::format_of(dtype), static_cast<std::uint64_t>(code));
  const std::int64_t half = std::int64_t{1} << (8 * size_of(dtype) - 1);
  return static_cast<double>(is_unsigned(dtype) || code < half ? code : code - 2 * half);
}
/// Nothing where the cast means nothing, or f64 is too narrow to tell.
std::optional<double> converted(double x, DType to) {
  if (to == f64 || to == f32) return x;
  if (is_float(to)) return test::nearest(test::format_of(to), x);
  if (!(std::fabs(x) < 0x1p31) || (size_of(to) >= 4 && is_unsigned(to) && x < 0)) return std::nullopt;
  if (size_of(to) >= 4) return std::trunc(x) + 0.0;
  const auto whole = static_cast<std::int64_t>(std::trunc(x));
  const std::int64_t span = std::int64_t{1} << 8 * size_of(to), low = is_unsigned(to) ? 0 : -span / 2;
  return static_cast<double>(((whole - low) % span + span) % span + low);
}

template <class Kernel>
std::vector<Tensor> cast_by(const Kernel& kernel, DType from) {
  const Tensor x = from_array(all_codes(from));
  const auto to = [&](std::size_t k) { return OutShape{x.shape(), {}, kTo[k]}; };
  return kernel({x.numel() / types::kBlock}, x, to(0), to(1), to(2), to(3), to(4), to(5), to(6), to(7), to(8), to(9), to(10), to(11),
                to(12), to(13));
}

void expect_casts(const std::vector<Tensor>& results, DType from) {
  for (std::size_t k = 0; k < results.size(); ++k) {
    const HostArray got = cast(results[k], f64).to_array();
    int wrong = 0;
    for (std::int64_t code = 0; code < got.size() && wrong < 5; ++code) {
      const double x = value_of(from, code), y = got.values<double>()[static_cast<std::size_t>(code)];
      const auto want = converted(x, kTo[k]);
      if (!want || (std::isnan(*want) && std::isnan(y)) || (y == *want && std::signbit(y) == std::signbit(*want))) continue;
      ADD_FAILURE() << name(from) << " " << code << " (" << x << ") to " << name(kTo[k]) << ": " << y << ", expected " << *want;
      ++wrong;
    }
  }
}

TEST(TileTypes, EveryNumberOfEightOrSixteenBitsIsCastToEveryType) {
  for (const DType from : {f16, bf16, e4m3, e5m2, i16, u16, i8, u8}) expect_casts(cast_by(types::casts, from), from);
  for (const DType from : {e4m3, e5m2, i8, u8}) expect_casts(cast_by(types::casts.check(), from), from);
}

TEST(TileTypes, WhatLiesBetweenTwoNumbersGoesToTheNearerOneAndTheMiddleToTheEvenOne) {
  for (const DType to : {f16, bf16, e4m3, e5m2}) {
    const test::FloatFormat format = test::format_of(to);
    const std::vector<float> x = test::between_neighbours(format, types::kBlock);
    const auto count = static_cast<std::int64_t>(x.size());
    for (const DType from : {f32, f64}) {
      for (const bool at_once : {false, true}) {
        if (at_once && size_of(to) > 1) continue;  // slow
        const auto launch = [&](const auto& k) { return k({count / types::kBlock}, cast(tensor(x), from), OutShape{{count}, {}, to})[0]; };
        const auto got = cast(at_once ? launch(types::narrowed.check()) : launch(types::narrowed), f64).to_host<double>();
        for (std::size_t i = 0; i < x.size(); ++i)
          ASSERT_EQ(got[i], test::nearest(format, static_cast<double>(x[i]))) << name(from) << " " << x[i] << " to " << name(to);
      }
    }
  }
}

TEST(TileTypes, NumbersOfF64AreRoundedOnce) {
  for (const DType to : {f16, bf16, e4m3, e5m2}) {
    const test::FloatFormat format = test::format_of(to);
    std::vector<double> x;
    for (const float near : test::between_neighbours(format, types::kBlock)) {
      x.push_back(near * (1 + 0x1p-40));  // f32 has the middle of two neighbours, but not what is a little more
      x.push_back(near * (1 - 0x1p-40));
    }
    const auto count = static_cast<std::int64_t>(x.size());
    const std::vector<double> got =
        cast(types::narrowed({count / types::kBlock}, tensor(x), OutShape{{count}, {}, to})[0], f64).to_host<double>();
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], test::nearest(format, x[i])) << x[i] << " to " << name(to);
    EXPECT_EQ(cast(cast(tensor(x), to), f64).to_host<double>(), got) << "by the op, to " << name(to);
  }
}

TEST(TileTypes, IntegersOf64BitsAreRoundedOnceToF32) {
  std::vector<std::int64_t> x;
  for (int bit = 24; bit < 63; ++bit) {
    const std::int64_t top = std::int64_t{1} << bit, half = top >> 24;  // half of a unit in the last place
    for (const std::int64_t more : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}})
      for (const std::int64_t sign : {1, -1}) x.push_back(sign * (top + half + more)), x.push_back(sign * (top + 3 * half + more));
  }
  x.resize(2 * types::kBlock, std::numeric_limits<std::int64_t>::min());
  const auto count = static_cast<std::int64_t>(x.size());
  std::vector<std::uint64_t> u;
  for (const std::int64_t one : x) u.push_back(static_cast<std::uint64_t>(one));
  const auto cast_all = [&](const auto& kernel, const Tensor& from) {
    return kernel({count / types::kBlock}, from, OutShape{{count}, {}, f32})[0].template to_host<float>();
  };
  for (const bool at_once : {false, true}) {
    const auto of_signed = at_once ? cast_all(types::narrowed.check(), tensor(x)) : cast_all(types::narrowed, tensor(x));
    const auto of_unsigned = at_once ? cast_all(types::narrowed.check(), tensor(u)) : cast_all(types::narrowed, tensor(u));
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(of_signed[i], static_cast<float>(x[i])) << x[i];
      ASSERT_EQ(of_unsigned[i], static_cast<float>(u[i])) << u[i];
    }
  }
}

TEST(TileTypes, NaNIsTheIntegerZeroOnACpu) {
  if (&default_device() != &cpu()) GTEST_SKIP() << "a card's own numbers";
  const Tensor x = full({types::kBlock}, NAN);
  for (const DType from : {f32, f64}) {
    for (const DType to : {i64, i32, i16, i8, u64, u32, u16, u8}) {
      const OutShape out{{types::kBlock}, {}, to};
      const double got = cast(types::narrowed({1}, cast(x, from), out)[0], f64).to_host<double>()[7];
      const double at_once = cast(types::narrowed.check()({1}, cast(x, from), out)[0], f64).to_host<double>()[7];
      EXPECT_EQ(got, 0) << name(from) << " to " << name(to);
      EXPECT_EQ(at_once, 0) << name(from) << " to " << name(to);
      EXPECT_EQ(cast(cast(cast(x, from), to), f64).to_host<double>()[7], 0) << name(from) << " to " << name(to);
    }
  }
}

template <class T>
std::vector<T> numbers(std::size_t first) {
  std::vector<T> out(types::kBlock);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>((i + first) * 0x9e3779b97f4a7c15u >> 23);
  out[0] = std::numeric_limits<T>::max(), out[1] = std::numeric_limits<T>::min();
  return out;
}

template <class T>
void expect_integers() {
  using U = std::make_unsigned_t<T>;
  const DType dtype = dtype_of<T>();
  const auto a = numbers<T>(1), b = numbers<T>(77);
  const Tensor x = tensor(a), y = tensor(b);
  const OutShape all{{types::kBlock}, {}, dtype}, one{{}, {}, dtype};
  const OutShape wide{{}, {}, sizeof(T) >= 4 ? dtype : std::is_unsigned_v<T> ? u32 : i32};
  const auto expect = [&](const Tensor& got, auto f, const char* what) {
    const auto values = got.to_host<T>();
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(values[i], static_cast<T>(f(a[i], b[i]))) << what << " of " << name(dtype) << " at " << i;
  };
  const auto check = [&](const auto& arithmetic, const auto& bits) {
    const std::vector<Tensor> r = arithmetic({1}, x, y, all, all, all, all, all, all, all, all, std::int64_t{types::kBlock});
    expect(r[0], [](T p, T q) { return static_cast<U>(p) + static_cast<U>(q); }, "+");
    expect(r[1], [](T p, T q) { return static_cast<U>(p) - static_cast<U>(q); }, "-");
    expect(r[2], [](T p, T q) { return static_cast<std::uint64_t>(p) * static_cast<std::uint64_t>(q); }, "*");
    expect(
        r[3],
        [](T p, T q) {
          return q == 0                                           ? T{0}
                 : std::is_signed_v<T> && q == static_cast<T>(-1) ? static_cast<T>(U{0} - static_cast<U>(p))
                                                                  : static_cast<T>(p / q);
        },
        "/");
    expect(r[4], [](T p, T q) { return q == 0 || (std::is_signed_v<T> && q == static_cast<T>(-1)) ? T{0} : static_cast<T>(p % q); }, "%");
    expect(r[5], [](T p, T q) { return std::max(p, q); }, "maximum");
    expect(r[6], [](T p, T q) { return std::min(p, q); }, "minimum");
    expect(r[7], [](T p, T) { return std::max(p, T{0}) != p ? static_cast<T>(U{0} - static_cast<U>(p)) : p; }, "abs");
    const std::vector<Tensor> s = bits({1}, x, y, all, all, all, OutShape{{types::kBlock}, {}, i32}, wide, one, all);
    expect(s[0], [](T p, T q) { return static_cast<U>(p) << (q & 7); }, "<<");
    expect(s[1], [](T p, T q) { return p >> (q & 7); }, ">>");
    expect(s[2], [](T p, T q) { return (p ^ q) | (~p & q); }, "bits");
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(s[3].to_host<std::int32_t>()[i], (a[i] < b[i]) + 2 * (a[i] == b[i]) + 4 * (a[i] >= b[i])) << name(dtype);
    std::uint64_t total = 0;
    for (const T p : a) total += static_cast<std::uint64_t>(p);
    visit(s[4].dtype(), [&](auto zero) {
      using W = decltype(zero);
      if constexpr (std::is_integral_v<W> && !std::is_same_v<W, bool>) {
        EXPECT_EQ(s[4].to_host<W>()[0], static_cast<W>(total)) << name(dtype);
      }
    });
    EXPECT_EQ(s[5].to_host<T>()[0], *std::max_element(a.begin(), a.end()));
    auto sorted = a;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(s[6].to_host<T>(), sorted) << name(dtype);
  };
  check(types::arithmetic, types::bits);
  check(types::arithmetic.check(), types::bits.check());
}

TEST(TileTypes, IntegersWrapShiftDivideAndCompareByTheirType) {
  expect_integers<std::int8_t>(), expect_integers<std::uint8_t>(), expect_integers<std::int16_t>(), expect_integers<std::uint16_t>();
  expect_integers<std::int32_t>(), expect_integers<std::uint32_t>(), expect_integers<std::int64_t>(), expect_integers<std::uint64_t>();
}

TEST(TileTypes, NarrowFloatsAreRoundedAfterEachWord) {
  for (const DType dtype : {f16, bf16, e4m3, e5m2}) {
    const test::FloatFormat format = test::format_of(dtype);
    std::vector<float> a(types::kBlock), b(types::kBlock);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(test::nearest(format, std::sin(static_cast<double>(i)) * 3));
      b[i] = static_cast<float>(test::nearest(format, std::cos(static_cast<double>(i)) * 5 + 0.01));
    }
    const Tensor x = cast(tensor(a), dtype), y = cast(tensor(b), dtype);
    const OutShape all{{types::kBlock}, {}, dtype}, divided{{types::kBlock}, {}, f32};
    for (const bool at_once : {false, true}) {
      const auto run = [&](const auto& kernel) {
        return kernel({1}, x, y, all, all, all, divided, divided, all, all, all, std::int64_t{types::kBlock});
      };
      const auto r = at_once ? run(types::arithmetic.check()) : run(types::arithmetic);
      const auto expect = [&](std::size_t k, auto f) {
        const auto got = cast(r[k], f32).to_host<float>();
        for (std::size_t i = 0; i < a.size(); ++i)
          ASSERT_EQ(static_cast<double>(got[i]), test::nearest(format, static_cast<double>(f(a[i], b[i]))))
              << name(dtype) << " result " << k << " at " << i;
      };
      expect(0, [](float p, float q) { return p + q; });
      expect(1, [](float p, float q) { return p - q; });
      expect(2, [](float p, float q) { return p * q; });
      expect(5, [](float p, float q) { return std::max(p, q); });
      const auto quotient = r[3].to_host<float>();
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(quotient[i], a[i] / b[i]) << name(dtype) << " at " << i;  // f32, as Triton's
    }
  }
}

TEST(TileTypes, PopcountCountsTheBitsOfTheElement) {
  const auto check = []<class T>(T) {
    auto a = numbers<T>(5);
    a[2] = static_cast<T>(-1), a[3] = 0, a[4] = static_cast<T>(-2);
    const auto bits = [](T x) { return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(x))); };
    for (const bool at_once : {false, true}) {
      const OutShape all{{types::kBlock}, {}, dtype_of<T>()}, one{{}, {}, dtype_of<T>()};
      const std::vector<Tensor> got = at_once ? types::counted.check()({1}, tensor(a), all, one) : types::counted({1}, tensor(a), all, one);
      const auto each = got[0].to_host<T>();
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(each[i], bits(a[i])) << name(dtype_of<T>()) << " at " << i;
      EXPECT_EQ(got[1].to_host<T>()[0], bits(a[0])) << name(dtype_of<T>());
    }
  };
  check(std::int8_t{}), check(std::uint8_t{}), check(std::int16_t{}), check(std::uint16_t{});
  check(std::int32_t{}), check(std::uint32_t{}), check(std::int64_t{}), check(std::uint64_t{});
}

TEST(TileTypes, UpperHalvesOfProductsAreUnsigned) {
  const auto check = []<class T>(T) {
    using U = std::make_unsigned_t<T>;
    const auto a = numbers<T>(3), b = numbers<T>(9);
    for (const bool at_once : {false, true}) {
      const OutShape all{{types::kBlock}, {}, dtype_of<T>()};
      const auto got = (at_once ? types::high.check()({1}, tensor(a), tensor(b), all) : types::high({1}, tensor(a), tensor(b), all))[0]
                           .template to_host<T>();
      for (std::size_t i = 0; i < a.size(); ++i) {
        __extension__ using Wide = unsigned __int128;
        const auto want = static_cast<T>(static_cast<U>(Wide{static_cast<U>(a[i])} * static_cast<U>(b[i]) >> 8 * sizeof(T)));
        ASSERT_EQ(got[i], want) << name(dtype_of<T>()) << " " << i;
      }
    }
  };
  check(std::int32_t{}), check(std::uint32_t{}), check(std::int64_t{}), check(std::uint64_t{});
}

// The first words of Random123's known answers (kat_vectors), philox4x32 and philox4x64 with 10 rounds, counter and key 0.
TEST(TileTypes, PhiloxGivesTheKnownAnswers) {
  static const auto zero = tile::jit("zero", [](tile::Out<std::uint32_t> a, tile::Out<std::uint64_t> b) {
    const auto x = tile::philox(0, 0, 0, 0, 0);
    const auto y = tile::philox<std::uint64_t>(0, 0, 0, 0, 0);
    for (std::size_t k = 0; k < 4; ++k) {
      tile::store(a + std::int64_t(k), x[k]);
      tile::store(b + std::int64_t(k), y[k]);
    }
  });
  const auto r = zero({1}, tile::out({4}), tile::out({4}));
  EXPECT_EQ(r[0].to_host<std::uint32_t>(), (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(r[1].to_host<std::uint64_t>(),
            (std::vector<std::uint64_t>{0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b}));
}

TEST(TileTypes, ProductsOfEveryTypeAndRank) {
  for (const DType dtype : {f64, f32, f16, bf16, e4m3, e5m2, i8, u8, i16, i32, u32}) {
    for (const int batch : {0, 1, 3}) {
      constexpr int kM = 5, kN = 19, kK = 12;
      const auto shape = [&](std::int64_t rows, std::int64_t columns) {
        return batch == 0 ? Shape{rows, columns} : Shape{batch, rows, columns};
      };
      const auto filled = [&](const Shape& s, int step) {
        std::vector<float> v(static_cast<std::size_t>(numel(s)));
        for (std::size_t i = 0; i < v.size(); ++i)
          v[i] = static_cast<float>(static_cast<int>(i * static_cast<std::size_t>(step) % 13) - (is_unsigned(dtype) ? 0 : 6));
        return tensor(v, s);
      };
      const DType sums = dtype == f64 ? f64 : is_float(dtype) ? f32 : dtype == u32 ? u32 : i32;
      const Tensor a = filled(shape(kM, kK), 5), b = filled(shape(kK, kN), 7), c = cast(filled(shape(kM, kN), 3), sums);
      const Tensor want = matmul(cast(a, f64), cast(b, f64)) + cast(c, f64);
      for (const bool at_once : {false, true}) {
        const auto run = [&](const auto& kernel) {
          return kernel({1}, cast(a, dtype), cast(b, dtype), c, OutShape{shape(kM, kN), {}, sums}, batch, kM, kN, kK)[0];
        };
        const Tensor got = at_once ? run(types::products.check()) : run(types::products);
        EXPECT_EQ(cast(got, f64).to_host<double>(), want.to_host<double>()) << name(dtype) << " " << batch;  // small whole numbers: exact
      }
    }
  }
}

TEST(TileTypes, ProductsAreRoundedAsTheyWereAskedFor) {
  const Tensor a = normal({16, 16}), b = normal({16, 16});
  const OutShape all{{16, 16}};
  const auto r = types::rounded_products({1}, a, b, all, all, all, OutShape{{16, 16}, {}, f16});
  const Tensor want = matmul(cast(a, f64), cast(b, f64));
  const auto error = [&](const Tensor& got) { return max(abs(cast(got, f64) - want)).item<double>(); };
  EXPECT_LT(error(r[0]), 1e-5);
  EXPECT_GT(error(r[1]), 1e-4);
  EXPECT_LT(error(r[1]), 1e-2);
  EXPECT_LT(error(r[2]), 1e-5);
  EXPECT_EQ(r[3].to_host<Half>(), cast(r[0], f16).to_host<Half>());
}

TEST(TileTypes, ScaledProductsAreThoseOfTheNumbersTheyStandFor) {
  using tile::ScaledFormat;
  std::vector<std::uint8_t> scales(32), bytes(16 * 64);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<std::uint8_t>(120 + i % 11);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 % 251 & 0xbf);  // no NaN, no infinity
  const Tensor s = tensor(scales, {16, 2});
  constexpr double kFour[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const auto value = [&](ScaledFormat format, std::size_t row, std::size_t k, bool right) -> double {
    if (format == ScaledFormat::E2M1) {
      const std::size_t at = right ? k / 2 * 16 + row : row * 32 + k / 2;
      const int code = k % 2 == 0 ? bytes[at] & 15 : bytes[at] >> 4;
      return code & 8 ? -kFour[code & 7] : kFour[code & 7];
    }
    const std::size_t at = right ? k * 16 + row : row * 64 + k;
    return test::value_of(test::format_of(format == ScaledFormat::E4M3 ? e4m3 : e5m2), bytes[at]);
  };
  const auto expect = [&](const std::vector<Tensor>& results, ScaledFormat left, ScaledFormat right, const char* what) {
    const auto got = results[0].to_host<float>();
    for (std::size_t m = 0; m < 16; ++m) {
      for (std::size_t n = 0; n < 16; ++n) {
        double sum = 0, size = 0;
        for (std::size_t k = 0; k < 64; ++k) {
          const double term = value(left, m, k, false) * std::ldexp(1.0, scales[m * 2 + k / 32] - 127) * value(right, n, k, true) *
                              std::ldexp(1.0, scales[n * 2 + k / 32] - 127);
          sum += term, size += std::fabs(term);
        }
        ASSERT_NEAR(static_cast<double>(got[m * 16 + n]), sum, 1e-6 * size) << what << " " << m << " " << n;
      }
    }
  };
  const auto part = [&](std::int64_t rows, std::int64_t columns) {
    return tensor(std::vector<std::uint8_t>(bytes.begin(), bytes.begin() + rows * columns), {rows, columns});
  };
  const Tensor left = part(16, 64), right = part(64, 16), left4 = part(16, 32), right4 = part(32, 16);
  constexpr auto E4 = ScaledFormat::E4M3, E5 = ScaledFormat::E5M2, E2 = ScaledFormat::E2M1;
  expect(types::scaled<E4, E4>({1}, left, s, right, s, tile::out({16, 16})), E4, E4, "codes of e4m3");
  expect(types::scaled<E5, E4>({1}, left, s, right, s, tile::out({16, 16})), E5, E4, "e5m2 and e4m3");
  expect(types::scaled<E2, E4>({1}, left4, s, right, s, tile::out({16, 16})), E2, E4, "e2m1 and e4m3");
  expect(types::scaled<E5, E2>.check()({1}, left, s, right4, s, tile::out({16, 16})), E5, E2, "e5m2 and e2m1, at once");
}

}  // namespace
}  // namespace tegula
