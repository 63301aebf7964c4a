// A product of halves, seven times: from a sum that one thread adds up to tiles that tensor cores multiply while the copy engine brings the next ones.
// docs/tile.md says what each step gains. Usage: matmul_steps [SIZE], which times the steps at SIZE x SIZE x SIZE, a multiple of 256, on the GPU if there
// is one.
#include "examples/tile/check.h"

namespace kernels {
using namespace tegula::tile;

// 1. An instance adds up one element.
const auto element = jit("product_by_element", [](Ptr<BFloat16> a, Ptr<BFloat16> b, Out<BFloat16> c, Int N, Int K) {
  auto m = program_id(1), n = program_id(0) + arange(0, 1);
  auto sum = zeros<float>({1});
  for (auto k : range(K)) sum += cast<float>(load(a + m * K + k)) * cast<float>(load(b + k * N + n));
  store(c + m * N + n, sum);
});

// 2. Neighbours in a row: what lies beside each other is loaded together, and an element of a is loaded once for all of them.
const auto row_of_elements =
    jit("product_by_row", [](Ptr<BFloat16> a, Ptr<BFloat16> b, Out<BFloat16> c, Int N, Int K, Const<int, "BN"> BN) {
      auto m = program_id(1), n = program_id(0) * BN + arange(0, BN);
      auto sum = zeros<float>({BN});
      for (auto k : range(K)) sum += cast<float>(load(a + m * K + k)) * cast<float>(load(b + k * N + n, n < N));
      store(c + m * N + n, sum, n < N);
    });

// 3. A block: a column of a and a row of b give BM x BN products, whose sums are in registers.
const auto block = jit("product_by_block", [](Ptr<BFloat16> a, Ptr<BFloat16> b, Out<BFloat16> c, Int M, Int N, Int K, Const<int, "BM"> BM,
                                              Const<int, "BN"> BN) {
  auto m = col(program_id(1) * BM + arange(0, BM)), n = row(program_id(0) * BN + arange(0, BN));
  auto sum = zeros<float>({BM, BN});
  for (auto k : range(K)) sum += cast<float>(load(a + m * K + k, m < M)) * cast<float>(load(b + k * N + n, n < N));
  store(c + m * N + n, sum, m < M && n < N);
});

// 4. Tiles in shared memory, multiplied by tensor cores: numbers that were halves before they were widened are multiplied as halves, to the same bits.
const auto shared = jit("product_by_tiles", [](Ptr<BFloat16> a, Ptr<BFloat16> b, Out<BFloat16> c, Int M, Int N, Int K, Const<int, "BM"> BM,
                                               Const<int, "BN"> BN, Const<int, "BK"> BK) {
  auto m = col(program_id(1) * BM + arange(0, BM)), n = row(program_id(0) * BN + arange(0, BN));
  auto sum = zeros<float>({BM, BN});
  for (auto k0 : range(0, K, BK)) {
    auto k = k0 + arange(0, BK);
    sum += dot(cast<float>(load(a + m * K + row(k), m < M && row(k) < K)), cast<float>(load(b + col(k) * N + n, col(k) < K && n < N)));
  }
  store(c + m * N + n, sum, m < M && n < N);
});

// 5. Larger tiles, each of which is waited for. 6. The next STAGES - 1 tiles are on their way meanwhile. 7. Larger tiles, GROUP rows of them at a time: what they share is in the
// cache.
const auto halves = jit("product_of_halves", [](Ptr<BFloat16> a, Ptr<BFloat16> b, Out<BFloat16> c, Int M, Int N, Int K, Const<int, "BM"> BM,
                                                Const<int, "BN"> BN, Const<int, "BK"> BK, Const<int, "STAGES"> STAGES,
                                                Const<int, "GROUP"> GROUP) {
  auto down = cdiv(M, BM), across = cdiv(N, BN), id = program_id(0);
  auto first = id / (across * GROUP) * GROUP, height = minimum(down - first, GROUP);
  auto m = col((first + id % (across * GROUP) % height) * BM + arange(0, BM)), n = row(id % (across * GROUP) / height * BN + arange(0, BN));
  auto sum = zeros<float>({BM, BN});
  for (auto k0 : range(0, K, BK, {.num_stages = STAGES})) {
    auto k = k0 + arange(0, BK);
    sum = dot(load(a + m * K + row(k), m < M && row(k) < K), load(b + col(k) * N + n, col(k) < K && n < N), sum);
  }
  store(c + m * N + n, sum, m < M && n < N);
});
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

namespace {

/// Calls f(name, kernel, launch) for each step; launch(kernel) gives the product.
template <class F>
void for_each_step(const Tensor& a, const Tensor& b, F&& f) {
  const std::int64_t M = a.size(0), K = a.size(1), N = b.size(1);
  const auto halves = [&](int bm, int bn, int bk, int stages, int group) {
    return [=, &a, &b](const auto& k) { return k({cdiv(M, bm) * cdiv(N, bn)}, a, b, out({M, N}), M, N, K, bm, bn, bk, stages, group)[0]; };
  };
  f("1. an element", kernels::element, [&](const auto& k) { return k({N, M}, a, b, out({M, N}), N, K)[0]; });
  f("2. neighbours", kernels::row_of_elements, [&](const auto& k) { return k({cdiv(N, 256), M}, a, b, out({M, N}), N, K, 256)[0]; });
  f("3. a block", kernels::block, [&](const auto& k) { return k({cdiv(N, 64), cdiv(M, 64)}, a, b, out({M, N}), M, N, K, 64, 64)[0]; });
  f("4. tiles", kernels::shared, [&](const auto& k) { return k({cdiv(N, 64), cdiv(M, 64)}, a, b, out({M, N}), M, N, K, 64, 64, 32)[0]; });
  f("5. no copies ahead", kernels::halves, halves(128, 128, 64, 1, 1));
  f("6. copies ahead", kernels::halves, halves(128, 128, 64, 4, 1));
  f("7. larger tiles", kernels::halves, halves(128, 256, 64, 4, 8));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    if (cuda_count() > 0) set_default_device(cuda());
    const std::int64_t n = std::atoll(argv[1]);
    const Tensor a = cast(normal({n, n}), bf16), b = cast(normal({n, n}), bf16);
    const auto rate = [&](const auto& f) {
      return 2e-9 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) /
             do_bench(f, {.warmup = 20, .rep = 60}).median();
    };
    for_each_step(a, b, [&](const char* name, const auto& k, const auto& launch) {
      std::printf("%-18s %8.2f TFLOP/s\n", name, rate([&] { return launch(k); }));
      std::fflush(stdout);
    });
    std::printf("%-18s %8.2f TFLOP/s\n", "matmul(a, b)", rate([&] { return matmul(a, b); }));
    return 0;
  }
  const Tensor a = cast(normal({50, 70}), bf16), b = cast(normal({70, 90}), bf16);
  const Tensor wanted = cast(matmul(cast(a, f32), cast(b, f32)), bf16);
  for_each_step(a, b, [&](const char* name, const auto& k, const auto& launch) { expect(name, k, launch, wanted, 1e-2); });
}
