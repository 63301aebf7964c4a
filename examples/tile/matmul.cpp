// A matrix product in blocks: instances in groups for the cache, pointers that move along, an activation in the epilogue, sizes of blocks that are tuned.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

Tile leaky_relu(Tile x) { return where(x >= 0, x, 0.01 * x); }

template <class T>
const auto matmul = jit(
    "matmul", [](Ptr<T> a, Ptr<T> b, Out<T> c, Named<Int, "M"> M, Named<Int, "N"> N, Named<Int, "K"> K, Const<bool, "ACTIVATE"> ACTIVATE,
                 Const<int, "BM"> BM, Const<int, "BN"> BN, Const<int, "BK"> BK, Const<int, "GROUP"> GROUP, Const<bool, "EVEN_K"> EVEN_K) {
      // Instances in rows of blocks, GROUP rows at a time: the blocks they read stay in the cache.
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
        auto in_a = col(m) < M, in_b = row(n) < N;
        if (!EVEN_K) {  // while the kernel is recorded
          in_a = in_a && row(k) < left;
          in_b = in_b && col(k) < left;
        }
        acc += dot(load(pa, in_a), load(pb, in_b));
        pa += BK;
        pb += N * BK;
      }
      if (ACTIVATE) acc = leaky_relu(acc);
      store(c + col(m) * N + row(n), acc, col(m) < M && row(n) < N);
    });

// The fastest of these is measured once for each M, N, K on each device.
const auto tuned_matmul = matmul<float>
                              .tune({{.constants = {{"BM", 32}, {"BN", 32}, {"BK", 16}, {"GROUP", 4}}, .num_warps = 4},
                                     {.constants = {{"BM", 16}, {"BN", 64}, {"BK", 32}, {"GROUP", 2}}, .num_warps = 4}},
                                    {.key = {"M", "N", "K"}, .seconds = 1})
                              .given("EVEN_K", [](const Launch& l) { return l["K"] % l["BK"] == 0; });
// The product of halves, which tensor cores multiply: tiles of sums as large as the registers of a few warps, pieces of K that are copied ahead.
const auto half_matmul = matmul<BFloat16>
                             .tune({{.constants = {{"BM", 64}, {"BN", 64}, {"BK", 32}, {"GROUP", 4}}},
                                    {.constants = {{"BM", 128}, {"BN", 128}, {"BK", 64}, {"GROUP", 8}}}},
                                   {.key = {"M", "N", "K"}, .seconds = 1})
                             .given("EVEN_K", [](const Launch& l) { return l["K"] % l["BK"] == 0; });
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

int main() {
  for (const std::int64_t K : {130, 128}) {
    const std::int64_t M = 100, N = 70;
    const Tensor a = normal({M, K}), b = normal({K, N}), half_a = cast(a, bf16), half_b = cast(b, bf16);
    const auto grid = [](const tile::Launch& l) { return Dims{cdiv(l["M"], l["BM"]) * cdiv(l["N"], l["BN"])}; };
    const auto run = [&](bool activate) {
      return [&, activate](const auto& k) { return k(grid, a, b, out({M, N}), M, N, K, activate)[0]; };
    };
    const auto halves = [&](const auto& k) { return k(grid, half_a, half_b, out({M, N}), M, N, K, true)[0]; };
    expect("product", kernels::tuned_matmul, run(false), matmul(a, b));
    expect("with activation", kernels::tuned_matmul, run(true), leaky_relu(matmul(a, b)));
    expect("of halves", kernels::half_matmul, halves, cast(leaky_relu(matmul(cast(half_a, f32), cast(half_b, f32))), bf16), 1e-2);
  }
}
