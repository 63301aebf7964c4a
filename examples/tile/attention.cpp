// Causal attention, forward and backward (Dao, FlashAttention-2): scores never lie in memory. The forward pass keeps the logarithm of each row's sum, by which the
// backward pass makes the probabilities again.
#include "examples/tile/check.h"

#include <cmath>

namespace kernels {
using namespace tegula::tile;

/// 1 / √D, as exponents of 2 want it.
double scale(int D) { return 1.44269504 / std::sqrt(double(D)); }

const auto forward = jit("attention", [](Ptr<float> q, Ptr<float> k, Ptr<float> v, Out<float> o, Out<float> logs, Int T, Const<int, "D"> D,
                                         Const<int, "BM"> BM, Const<int, "BN"> BN) {
  auto first = program_id(0) * BM;
  auto base = program_id(1) * T * D;
  auto m = first + arange(0, BM), d = arange(0, D);
  auto rows = col(m) < T;
  auto qq = load(q + base + col(m) * D + row(d), rows, 0.0) * scale(D);
  auto top = full<float>({BM}, -INFINITY);
  auto total = zeros<float>({BM});
  auto acc = zeros<float>({BM, D});
  for (auto n0 : range(0, minimum(first + BM, T), BN)) {  // up to the diagonal
    auto n = n0 + arange(0, BN);
    auto kk = load(k + base + col(n) * D + row(d), col(n) < T, 0.0);
    auto s = where(col(m) >= row(n) && row(n) < T, dot(qq, trans(kk)), -INFINITY);
    auto now = maximum(top, max(s, 1));
    auto p = exp2(s - col(now));
    auto factor = exp2(top - now);
    total = total * factor + sum(p, 1);
    acc = dot(p, load(v + base + col(n) * D + row(d), col(n) < T, 0.0), acc * col(factor));
    top = now;
  }
  store(o + base + col(m) * D + row(d), acc / col(total), rows);
  store(logs + program_id(1) * T + m, top + log2(total), m < T);
});

// A block of keys and values: all queries behind it.
const auto backward_keys =
    jit("attention_backward_keys", [](Ptr<float> q, Ptr<float> k, Ptr<float> v, Ptr<float> go, Ptr<float> logs, Ptr<float> delta,
                                      Out<float> dk, Out<float> dv, Int T, Const<int, "D"> D, Const<int, "BM"> BM, Const<int, "BN"> BN) {
      auto base = program_id(1) * T * D, line = program_id(1) * T;
      auto n = program_id(0) * BN + arange(0, BN), d = arange(0, D);
      auto columns = col(n) < T;
      auto at = base + col(n) * D + row(d);
      auto kk = load(k + at, columns, 0.0), vv = load(v + at, columns, 0.0);
      auto sum_k = zeros<float>({BN, D}), sum_v = zeros<float>({BN, D});
      for (auto m0 : range(program_id(0) * BN / BM * BM, T, BM)) {
        auto m = m0 + arange(0, BM);
        auto there = base + col(m) * D + row(d);
        auto qq = load(q + there, col(m) < T, 0.0), gg = load(go + there, col(m) < T, 0.0);
        auto s = dot(kk, trans(qq)) * scale(D);  // (BN, BM)
        auto p = where(row(m) >= col(n) && row(m) < T && columns, exp2(s - row(load(logs + line + m, m < T))), 0.0);
        sum_v = dot(p, gg, sum_v);
        auto ds = p * (dot(vv, trans(gg)) - row(load(delta + line + m, m < T)));
        sum_k = dot(ds, qq, sum_k);
      }
      store(dk + at, sum_k * (1 / std::sqrt(double(D))), columns);
      store(dv + at, sum_v, columns);
    });

// A block of queries: all keys up to it.
const auto backward_queries =
    jit("attention_backward_queries", [](Ptr<float> q, Ptr<float> k, Ptr<float> v, Ptr<float> go, Ptr<float> logs, Ptr<float> delta,
                                         Out<float> dq, Int T, Const<int, "D"> D, Const<int, "BM"> BM, Const<int, "BN"> BN) {
      auto base = program_id(1) * T * D, line = program_id(1) * T;
      auto first = program_id(0) * BM;
      auto m = first + arange(0, BM), d = arange(0, D);
      auto rows = col(m) < T;
      auto at = base + col(m) * D + row(d);
      auto qq = load(q + at, rows, 0.0), gg = load(go + at, rows, 0.0);
      auto log_sum = col(load(logs + line + m, m < T)), del = col(load(delta + line + m, m < T));
      auto sums = zeros<float>({BM, D});
      for (auto n0 : range(0, minimum(first + BM, T), BN)) {
        auto n = n0 + arange(0, BN);
        auto there = base + col(n) * D + row(d);
        auto kk = load(k + there, col(n) < T, 0.0), vv = load(v + there, col(n) < T, 0.0);
        auto p = where(col(m) >= row(n) && row(n) < T && rows, exp2(dot(qq, trans(kk)) * scale(D) - log_sum), 0.0);
        sums = dot(p * (dot(gg, trans(vv)) - del), kk, sums);
      }
      store(dq + at, sums * (1 / std::sqrt(double(D))), rows);
    });

const auto attention = forward.gradient([](const TileGradient& g) {
  const tegula::Tensor &q = g.inputs[0], &k = g.inputs[1], &v = g.inputs[2], &o = g.results[0], &go = g.gradients[0];
  const std::int64_t T = g.launch.numbers[0], D = g.launch.constants[0], BM = g.launch.constants[1], BN = g.launch.constants[2];
  const std::int64_t heads = g.launch.grid[1];
  const tegula::Tensor delta = tegula::sum(o * go, {-1});
  const auto keys = backward_keys({cdiv(T, BN), heads}, q, k, v, go, g.results[1], delta, out(k.shape()), out(v.shape()), T, D, BM, BN);
  const auto queries = backward_queries({cdiv(T, BM), heads}, q, k, v, go, g.results[1], delta, out(q.shape()), T, D, BM, BN);
  return std::vector<tegula::Tensor>{queries[0], keys[0], keys[1]};
});
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

int main() {
  const std::int64_t T = 50, D = 32;
  const Shape shape{2, 3, T, D};
  const Tensor q = normal(shape), k = normal(shape), v = normal(shape), u = normal(shape);
  const auto run = [&](const auto& kernel) { return kernel({cdiv(T, 32), 6}, q, k, v, out(shape), out({2, 3, T}), T, D, 32, 16)[0]; };
  const Tensor wanted = scaled_dot_product_attention(q, k, v, {.causal = true});
  expect("attention", kernels::attention, run, wanted);
  const auto got = grad(sum(run(kernels::attention) * u), {q, k, v}), want = grad(sum(wanted * u), {q, k, v});
  const char* const names[] = {"gradient of the queries", "of the keys", "of the values"};
  for (std::size_t i = 0; i < 3; ++i) expect_values(names[i], got[i], want[i]);
}
