#pragma once
// Kernels in the tile language: Triton's tutorials, ported line by line, and loops of all kinds.

#include <cmath>
#include <cstdint>
#include <utility>

#include "tegula/ops/tile_jit.h"

namespace kernels {
using namespace tegula::tile;

template <class T>
const auto add = jit("add", [](Ptr<T> x, Ptr<T> y, Out<T> z, Int n, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  auto mask = i < n;
  store(z + i, load(x + i, mask) + load(y + i, mask), mask);
});

const auto softmax_rows = jit("softmax", [](Ptr<float> x, Out<float> y, Int rows, Int columns, Const<int> BLOCK) {
  for (auto r : range(program_id(0), rows, num_programs(0))) {  // persistent
    auto j = arange(0, BLOCK);
    auto mask = j < columns;
    auto v = load(x + r * columns + j, mask, -INFINITY);
    v -= max(v, 0);
    auto e = exp(v);
    store(y + r * columns + j, e / sum(e, 0), mask);
  }
});

const auto matmul = jit("matmul", [](Ptr<float> a, Ptr<float> b, Out<float> c, Int M, Int N, Int K, Const<int> BM, Const<int> BN,
                                     Const<int> BK, Const<int> GROUP) {
  auto pid = program_id(0);
  auto tiles_m = cdiv(M, BM), tiles_n = cdiv(N, BN);
  auto in_group = tiles_n * GROUP;
  auto first_m = pid / in_group * GROUP;
  auto height = minimum(tiles_m - first_m, GROUP);
  auto pm = first_m + pid % in_group % height, pn = pid % in_group / height;
  auto m = pm * BM + arange(0, BM), n = pn * BN + arange(0, BN), k = arange(0, BK);
  auto pa = a + (col(m) * K + row(k));
  auto pb = b + (col(k) * N + row(n));
  auto acc = zeros<float>({BM, BN});
  for (auto step : range(0, cdiv(K, BK))) {
    auto left = K - step * BK;
    acc += dot(load(pa, col(m) < M && row(k) < left), load(pb, col(k) < left && row(n) < N));
    pa += BK;
    pb += N * BK;
  }
  store(c + col(m) * N + row(n), acc, col(m) < M && row(n) < N);
});

const auto layer_norm = jit("layer_norm", [](Ptr<float> x, Ptr<float> w, Ptr<float> b, Out<float> y, Out<float> mean_out,
                                             Out<float> rstd_out, Int N, Float eps, Const<int> BLOCK) {
  auto r = program_id(0);
  auto px = x + r * N, py = y + r * N;
  auto s = zeros<float>({BLOCK});
  for (auto first : range(0, N, BLOCK)) {
    auto j = first + arange(0, BLOCK);
    s += load(px + j, j < N, 0.0);
  }
  auto mean = sum(s, 0) / N;
  auto v = zeros<float>({BLOCK});
  for (auto first : range(0, N, BLOCK)) {
    auto j = first + arange(0, BLOCK);
    auto d = where(j < N, load(px + j, j < N, 0.0) - mean, 0.0);
    v += d * d;
  }
  auto rstd = rsqrt(sum(v, 0) / N + eps);
  store(mean_out + r, mean);
  store(rstd_out + r, rstd);
  for (auto first : range(0, N, BLOCK)) {
    auto j = first + arange(0, BLOCK);
    auto mask = j < N;
    store(py + j, (load(px + j, mask, 0.0) - mean) * rstd * load(w + j, mask) + load(b + j, mask), mask);
  }
});

const auto attention =
    jit("attention", [](Ptr<float> q, Ptr<float> k, Ptr<float> v, Out<float> o, Int T, Const<int> D, Const<int> BM, Const<int> BN) {
      auto first = program_id(0) * BM;
      auto base = program_id(1) * T * D;
      auto m = first + arange(0, BM), d = arange(0, D);
      auto rows = col(m) < T;
      auto qq = load(q + base + col(m) * D + row(d), rows, 0.0) * (1.44269504 / std::sqrt(double(D)));
      auto top = full<float>({BM}, -INFINITY);
      auto total = zeros<float>({BM});
      auto acc = zeros<float>({BM, D});
      for (auto n0 : range(0, minimum(first + BM, T), BN)) {  // causal: up to the diagonal
        auto n = n0 + arange(0, BN);
        auto kk = load(k + base + col(n) * D + row(d), col(n) < T, 0.0);
        auto s = dot(qq, trans(kk));
        s = where(col(m) >= row(n) && row(n) < T, s, -INFINITY);
        auto now = maximum(top, max(s, 1));
        auto p = exp2(s - col(now));
        auto factor = exp2(top - now);
        total = total * factor + sum(p, 1);
        acc = acc * col(factor);
        auto vv = load(v + base + col(n) * D + row(d), col(n) < T, 0.0);
        acc = dot(p, vv, acc);
        top = now;
      }
      store(o + base + col(m) * D + row(d), acc / col(total), rows);
    });

const auto histogram = jit("histogram", [](Ptr<std::int32_t> x, Out<std::int32_t> h, Int n, Const<int> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  atomic_add(h + load(x + i, i < n), 1, i < n);
});

inline void step_of(Tile& a, Tile& b) {
  std::swap(a, b);
  b = a + b;
}
const auto down = jit("down", [](Out<std::int64_t> z, Int n) {
  Tile all = 0, some = 0, unrolled = 0, sums = 0;
  for (auto i : range(n, -1, -1)) {
    all = all * 10 + i;
    for (auto j : range(i, 0, -2)) sums += i * j;
  }
  for (auto i : range(9, n, -3)) some = some * 10 + i;
  for (const auto i : static_range(3, 0, -1)) unrolled = unrolled * 10 + i;
  store(z + 0, all);
  store(z + 1, some);
  store(z + 2, unrolled);
  store(z + 3, sums);
});
const auto control = jit("control", [](Out<std::int64_t> z, Int n) {
  Tile a = 0, b = 1, last = 7;
  for (auto i : range(n)) {  // Fibonacci
    step_of(a, b);
    last = i;
  }
  store(z + 0, a);
  Tile total = 0;
  for (auto i : range(n)) {
    for (auto j : range(0, i)) {
      total += j * i;
      if_(j % 2 == 0, [&] { total += 1; }, [&] { total -= 1; });
    }
  }
  store(z + 1, total);
  Tile thrice = 0;
  for (auto i : static_range(3))
    for (auto k : range(n)) thrice += k * i;
  store(z + 2, thrice);
  Tile x;  // first assigned in both branches
  if_(n > 5, [&] { x = 10; }, [&] { x = 20; });
  store(z + 3, x);
  store(z + 4, last);
  Tile moved = 100;  // a closed form, also of a loop that is never run
  for (auto i : range(n)) moved -= n * 2;
  for (auto i : range(3, n - 100)) moved += 1;
  store(z + 5, moved);
});

const auto step = jit("step", [](InOut<float> w, Ptr<float> g, Out<float> norm, Float rate, Bool ascend, Int n, Const<int> BLOCK) {
  auto i = arange(0, BLOCK);
  auto mask = i < n;
  auto dw = load(g + i, mask) * where(ascend, rate, -rate);
  store(w + i, load(w + i, mask) + dw, mask);
  store(norm, sum(dw * dw, 0));
});

const auto cube = jit("cube", [](Ptr<float> x, Out<float> y, Out<float> square, Int n, Const<int> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  auto v = load(x + i, i < n);
  store(y + i, v * v * v, i < n);
  store(square + i, v * v, i < n);
});
const auto cube_backward =
    jit("cube_backward", [](Ptr<float> x, Ptr<float> dy, Ptr<float> dsquare, Out<float> dx, Int n, Const<int> BLOCK) {
      auto i = program_id(0) * BLOCK + arange(0, BLOCK);
      auto mask = i < n;
      auto v = load(x + i, mask);
      store(dx + i, 3 * v * v * load(dy + i, mask) + 2 * v * load(dsquare + i, mask), mask);
    });

// Stored types: each result is rounded to bf16.
const auto rounding = jit("rounding", [](Ptr<BFloat16> x, Out<float> y) {
  auto v = load(x + arange(0, 2));
  store(y + arange(0, 2), v + load(x + 1 - arange(0, 2)));
});
const auto wrapping = jit("wrapping", [](Ptr<std::int8_t> x, Out<std::int32_t> y) {
  auto v = load(x + arange(0, 2));
  store(y + arange(0, 2), v + v);
});

const auto random = jit("random", [](Out<std::int32_t> bits, Out<float> uniform, Out<float> normal, Int seed, Const<int> N) {
  auto i = arange(0, N);
  store(bits + i, randint(seed, i));
  store(uniform + i, rand(seed, i));
  store(normal + i, randn(seed, i));
});
}  // namespace kernels
