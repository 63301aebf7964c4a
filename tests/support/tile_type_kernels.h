#pragma once
// Kernels over tiles of every element type.

#include "tegula/ops/tile_jit.h"

namespace types {
using namespace tegula::tile;
using tegula::DType;

constexpr int kBlock = 256;

/// Each element of x in the dtype of each result.
inline const auto casts = jit("casts", [](Ptr<Any> x, Out<Any> a, Out<Any> b, Out<Any> c, Out<Any> d, Out<Any> e, Out<Any> f, Out<Any> g,
                                          Out<Any> h, Out<Any> k, Out<Any> l, Out<Any> m, Out<Any> n, Out<Any> o, Out<Any> p) {
  auto i = program_id(0) * kBlock + arange(0, kBlock);
  auto v = load(x + i);
  for (const Tile* to : {&a, &b, &c, &d, &e, &f, &g, &h, &k, &l, &m, &n, &o, &p}) store(*to + i, cast_to(v, to->dtype()));
});

/// Each element of x in the dtype of the result.
inline const auto narrowed = jit("narrowed", [](Ptr<Any> x, Out<Any> y) {
  auto i = program_id(0) * kBlock + arange(0, kBlock);
  store(y + i, cast_to(load(x + i), y.dtype()));
});

/// Arithmetic of two tiles of one type, with results of that type.
inline const auto arithmetic =
    jit("arithmetic", [](Ptr<Any> x, Ptr<Any> y, Out<Any> sum, Out<Any> difference, Out<Any> product, Out<Any> quotient, Out<Any> remainder,
                         Out<Any> larger, Out<Any> smaller, Out<Any> magnitude, Int n) {
      auto i = arange(0, kBlock);
      auto mask = i < n;
      auto a = load(x + i, mask), b = load(y + i, mask, 1);
      store(sum + i, a + b, mask);
      store(difference + i, a - b, mask);
      store(product + i, a * b, mask);
      store(quotient + i, a / b, mask);
      store(remainder + i, a % b, mask);
      store(larger + i, maximum(a, b), mask);
      store(smaller + i, minimum(a, b), mask);
      store(magnitude + i, abs(a), mask);
    });

/// Integer ops: shifts, bits, comparisons (as bits of one number), the sum, the prefix sums, the largest, the order.
inline const auto bits = jit("bits", [](Ptr<Any> x, Ptr<Any> y, Out<Any> left, Out<Any> right, Out<Any> other, Out<Any> compared,
                                        Out<Any> total, Out<Any> most, Out<Any> sorted) {
  auto i = arange(0, kBlock);
  auto a = load(x + i), b = load(y + i);
  store(left + i, a << (b & 7));
  store(right + i, a >> (b & 7));
  store(other + i, (a ^ b) | (~a & b));
  auto less = where(a < b, 1, 0), equal = where(a == b, 2, 0), greater = where(a >= b, 4, 0);
  store(compared + i, less + equal + greater);
  store(total, sum(a, 0));
  store(most, max(a, 0));
  store(sorted + i, sort(a, 0));
});

inline const auto high = jit("high", [](Ptr<Any> x, Ptr<Any> y, Out<Any> z) {
  auto i = arange(0, kBlock);
  store(z + i, umulhi(load(x + i), load(y + i)));
});

/// Bits that are set: of a tile, and of a scalar.
inline const auto counted = jit("counted", [](Ptr<Any> x, Out<Any> y, Out<Any> first) {
  auto i = arange(0, kBlock);
  store(y + i, popcount(load(x + i)));
  store(first, popcount(load(x)));
});

template <class T>
inline const auto words = jit("words", [](Out<T> w0, Out<T> w1, Out<T> w2, Out<T> w3, Int seed) {
  auto i = arange(0, kBlock);
  const auto all = philox<T>(seed, i, i * 3, 5, 7);
  const Tile* const to[] = {&w0, &w1, &w2, &w3};
  for (std::size_t k = 0; k < 4; ++k) store(*to[k] + i, all[k]);
});

/// (B, M, K) times (B, K, N), whole, plus an accumulator; a product of rank 2 where B is 0.
inline const auto products =
    jit("products", [](Ptr<Any> a, Ptr<Any> b, Ptr<Any> c, Out<Any> d, Const<int> B, Const<int> M, Const<int> N, Const<int> K) {
      const auto places = [](int height, int rows, int columns) {
        auto within = col(arange(0, rows)) * columns + row(arange(0, columns));
        if (height == 0) return within;
        return reshape(arange(0, height) * (rows * columns), {height, 1, 1}) + expand_dims(within, 0);
      };
      auto x = load(a + places(B, M, K)), y = load(b + places(B, K, N)), z = load(c + places(B, M, N));
      store(d + places(B, M, N), dot(x, y, z));
    });

inline const auto rounded_products =
    jit("rounded_products", [](Ptr<float> a, Ptr<float> b, Out<float> exact, Out<float> tf32, Out<float> three, Out<tegula::Half> half) {
      auto i = col(arange(0, 16)) * 16 + row(arange(0, 16));
      auto x = load(a + i), y = load(b + i);
      store(exact + i, dot(x, y));
      store(tf32 + i, dot(x, y, {.input_precision = InputPrecision::TF32}));
      store(three + i, dot(x, y, {.input_precision = InputPrecision::TF32x3}));
      store(half + i, dot(x, y, {.out_dtype = tegula::f16}));
    });

/// lhs (16, 64) and rhs (64, 16) with scales; of E2M1 their bytes, packed along K.
template <ScaledFormat kLeft, ScaledFormat kRight>
inline const auto scaled = jit("scaled", [](Ptr<Any> a, Ptr<std::uint8_t> s, Ptr<Any> b, Ptr<std::uint8_t> t, Out<float> c) {
  constexpr int kA = kLeft == ScaledFormat::E2M1 ? 32 : 64, kB = kRight == ScaledFormat::E2M1 ? 32 : 64;
  auto m = arange(0, 16), two = arange(0, 2);
  auto x = load(a + col(m) * kA + row(arange(0, kA))), y = load(b + col(arange(0, kB)) * 16 + row(m));
  auto u = load(s + col(m) * 2 + row(two)), v = load(t + col(m) * 2 + row(two));
  store(c + col(m) * 16 + row(m), dot_scaled(x, u, kLeft, y, v, kRight));
});

}  // namespace types
