// Products of several sizes in one launch: a fixed number of instances walks over the blocks of all of them. Sizes and places lie in memory.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

// sizes: M, N, K of each problem, and where its A, B, C begin.
const auto grouped = jit("grouped_gemm", [](Ptr<float> a, Ptr<float> b, Out<float> c, Ptr<std::int64_t> sizes, Int problems,
                                            Const<int, "BM"> BM, Const<int, "BN"> BN, Const<int, "BK"> BK) {
  Tile before = 0;  // blocks of the problems so far
  for (auto g : range(problems)) {
    auto of = sizes + g * 6;
    auto M = load(of), N = load(of + 1), K = load(of + 2);
    auto pa = a + load(of + 3), pb = b + load(of + 4), pc = c + load(of + 5);
    auto tiles_n = cdiv(N, BN);
    auto count = cdiv(M, BM) * tiles_n;
    // Block t of all is instance t % num_programs's.
    auto first = (program_id(0) - before % num_programs(0) + num_programs(0)) % num_programs(0);
    for (auto t : range(first, count, num_programs(0))) {
      auto m = t / tiles_n * BM + arange(0, BM), n = t % tiles_n * BN + arange(0, BN);
      auto acc = zeros<float>({BM, BN});
      for (auto k0 : range(0, K, BK)) {
        auto k = k0 + arange(0, BK);
        auto left = load(pa + col(m) * K + row(k), col(m) < M && row(k) < K);
        acc = dot(left, load(pb + col(k) * N + row(n), col(k) < K && row(n) < N), acc);
      }
      store(pc + col(m) * N + row(n), acc, col(m) < M && row(n) < N);
    }
    before += count;
  }
});
}  // namespace kernels

using namespace tegula;
using tile::out;

int main() {
  const std::vector<std::vector<std::int64_t>> problems{{20, 33, 17}, {50, 7, 40}, {1, 64, 5}, {33, 33, 33}};
  std::vector<std::int64_t> sizes;
  std::vector<Tensor> as, bs, cs;
  std::int64_t at_a = 0, at_b = 0, at_c = 0;
  for (const auto& p : problems) {
    const std::int64_t M = p[0], N = p[1], K = p[2];
    for (const std::int64_t one : {M, N, K, at_a, at_b, at_c}) sizes.push_back(one);
    at_a += M * K, at_b += K * N, at_c += M * N;
    const Tensor a = normal({M, K}), b = normal({K, N});
    as.push_back(reshape(a, {M * K}));
    bs.push_back(reshape(b, {K * N}));
    cs.push_back(reshape(matmul(a, b), {M * N}));
  }
  const Tensor a = concat(as), b = concat(bs), where_and_how_large = tensor(sizes);
  const auto run = [&](const auto& k) { return k({5}, a, b, out({at_c}), where_and_how_large, 4, 16, 16, 8)[0]; };
  expect("four products", kernels::grouped, run, concat(cs));
}
