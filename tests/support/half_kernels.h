#pragma once
// Kernels over halves in the tile language, whose products tensor cores do.

#include <cmath>

#include "tegula/ops/tile_jit.h"

namespace kernels {
using namespace tegula::tile;

const auto half_attention = jit("half_attention", [](Ptr<BFloat16> q, Ptr<BFloat16> k, Ptr<BFloat16> v, Out<float> o, Int T, Const<int> D,
                                                     Const<int> BM, Const<int> BN) {
  auto first = program_id(0) * BM;
  auto base = program_id(1) * T * D;
  auto m = first + arange(0, BM), d = arange(0, D);
  auto rows = col(m) < T;
  auto qq = load(q + base + col(m) * D + row(d), rows, 0.0);
  auto top = full<float>({BM}, -INFINITY);
  auto total = zeros<float>({BM});
  auto acc = zeros<float>({BM, D});
  for (auto n0 : range(0, minimum(first + BM, T), BN)) {
    auto n = n0 + arange(0, BN);
    auto kk = load(k + base + col(n) * D + row(d), col(n) < T, 0.0);
    auto s = dot(qq, trans(kk), zeros<float>({BM, BN})) * (1.44269504 / std::sqrt(double(D)));
    s = where(col(m) >= row(n) && row(n) < T, s, -INFINITY);
    auto now = maximum(top, max(s, 1));
    auto p = exp2(s - col(now));
    auto factor = exp2(top - now);
    total = total * factor + sum(p, 1);
    auto vv = load(v + base + col(n) * D + row(d), col(n) < T, 0.0);
    acc = dot(cast<BFloat16>(p), vv, acc * col(factor));
    top = now;
  }
  store(o + base + col(m) * D + row(d), acc / col(total), rows);
});

/// In TF32, of f32 in memory.
const auto tf32_product =
    jit("tf32_product", [](Ptr<float> a, Ptr<float> b, Out<float> c, Int M, Int N, Int K, Const<int> BM, Const<int> BN, Const<int> BK) {
      auto m = program_id(0) * BM + arange(0, BM), n = program_id(1) * BN + arange(0, BN);
      auto acc = zeros<float>({BM, BN});
      for (auto at : range(0, K, BK, {.warp_specialize = false})) {
        auto k = at + arange(0, BK);
        acc = dot(load(a + col(m) * K + row(k), col(m) < M && row(k) < K), load(b + col(k) * N + row(n), col(k) < K && row(n) < N), acc,
                  {.input_precision = InputPrecision::TF32});
      }
      store(c + col(m) * N + row(n), maximum(acc, 0.0), col(m) < M && row(n) < N);
    });
}  // namespace kernels
