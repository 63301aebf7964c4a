// Products of halves in the tile language beside the library's, on a GPU: first whether they are right, for sizes that no tile divides, then their rates.
// Rates are medians of replays, ours and the library's in turn. Usage: bench_tile_products [check] [quick]

#include <tegula/tile.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <tegula/bench.h>

#include "bench/measure.h"

namespace kernels {
using namespace tegula::tile;

template <class T, bool kTurned>
const auto product = jit("product", [](Ptr<T> a, Ptr<T> b, Out<T> c, Named<Int, "M"> M, Named<Int, "N"> N, Named<Int, "K"> K,
                                       Const<int, "BM"> BM, Const<int, "BN"> BN, Const<int, "BK"> BK, Const<int, "STAGES"> STAGES) {
  constexpr int kGroup = 8;  // rows of blocks, whose operands stay in the cache
  auto pid = program_id(0);
  auto tiles_m = cdiv(M, BM), tiles_n = cdiv(N, BN);
  auto in_group = tiles_n * kGroup;
  auto first_m = pid / in_group * kGroup;
  auto height = minimum(tiles_m - first_m, kGroup);
  auto m = (first_m + pid % in_group % height) * BM + arange(0, BM), n = pid % in_group / height * BN + arange(0, BN);
  auto acc = zeros<float>({BM, BN});
  for (auto at : range(0, K, BK, {.num_stages = STAGES})) {
    auto k = at + arange(0, BK);
    auto x = load(a + col(m) * K + row(k), col(m) < M && row(k) < K);
    if (kTurned) acc = dot(x, load(b + row(n) * K + col(k), row(n) < N && col(k) < K), acc);
    else acc = dot(x, load(b + col(k) * N + row(n), col(k) < K && row(n) < N), acc);
  }
  store(c + col(m) * N + row(n), acc, col(m) < M && row(n) < N);
});
}  // namespace kernels

using namespace tegula;
using tile::cdiv;

namespace {

struct Config {
  int m, n, k, stages;
};
struct Size {
  std::int64_t m, n, k;
};
std::string text(const Config& c) {
  return std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k) + (c.stages > 0 ? "/" + std::to_string(c.stages) : "");
}

template <class T, bool kTurned>
Tensor ours(const Tensor& a, const Tensor& b, const Size& s, const Config& c) {
  const Dims grid{cdiv(s.m, std::int64_t{c.m}) * cdiv(s.n, std::int64_t{c.n})};
  return kernels::product<T, kTurned>(grid, a, b, tile::out({s.m, s.n}), s.m, s.n, s.k, c.m, c.n, c.k, c.stages)[0];
}

template <class T, bool kTurned>
bool is_right(DType dtype, const Size& s, const Config& c) {
  const Tensor a = normal({s.m, s.k}, 0, 1, {.dtype = dtype}),
               b = normal(kTurned ? Shape{s.n, s.k} : Shape{s.k, s.n}, 0, 1, {.dtype = dtype});
  const Tensor wanted = matmul(cast(a, f32), cast(kTurned ? transpose(b) : b, f32));
  const double error = max(abs(cast(ours<T, kTurned>(a, b, s, c), f32) - wanted)).item(), size = max(abs(wanted)).item();
  const bool right = error <= size * (dtype == bf16 ? 6e-3 : 1e-3);
  std::printf("%s %lld x %lld x %lld %s, tile %s: error %.2e of %.1f, %s\n", std::string(name(dtype)).c_str(), static_cast<long long>(s.m),
              static_cast<long long>(s.n), static_cast<long long>(s.k), kTurned ? "NT" : "NN", text(c).c_str(), error, size,
              right ? "right" : "WRONG");
  return right;
}

template <bool kTurned>
void measure(const Size& s, const std::vector<Config>& configs) {
  const Tensor a = normal({s.m, s.k}, 0, 1, {.dtype = bf16}),
               b = normal(kTurned ? Shape{s.n, s.k} : Shape{s.k, s.n}, 0, 1, {.dtype = bf16});
  const double flops = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  const BenchOptions options{.warmup = 40, .rep = 120, .clear_cache = false};
  const auto rate = [&](auto&& f) {
    return flops /
           (do_bench_cudagraph([&](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x)}; }, {a, b}, options).median() * 1e-3) /
           1e12;
  };
  const auto library = [&] { return rate([&](const std::vector<Tensor>& x) { return matmul(x[0], kTurned ? transpose(x[1]) : x[1]); }); };
  double before = library(), best = 0;
  std::string line;
  Config chosen{};
  for (const Config& c : configs) {
    const double own = rate([&](const std::vector<Tensor>& x) { return ours<BFloat16, kTurned>(x[0], x[1], s, c); });
    char part[64];
    std::snprintf(part, sizeof part, "  %s %.0f", text(c).c_str(), own);
    line += part;
    if (own > best) best = own, chosen = c;
  }
  const double behind = library(), peer = (before + behind) / 2;
  std::printf("%6lld x %6lld x %5lld %s  library %.0f TFLOP/s, ours %.0f (%s), ratio %.3f;%s\n", static_cast<long long>(s.m),
              static_cast<long long>(s.n), static_cast<long long>(s.k), kTurned ? "NT" : "NN", peer, best, text(chosen).c_str(),
              best / peer, line.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto asked = [&](const char* what) {
    return std::any_of(argv + 1, argv + argc, [&](const char* one) { return std::strcmp(one, what) == 0; });
  };
  bench::choose_device();
  bool right = true;
  for (const Size& s : {Size{200, 264, 328}, {1000, 520, 200}, {129, 77, 65}}) {
    for (const Config& c : {Config{128, 128, 64, 0}, {64, 64, 32, 2}, {128, 256, 64, 0}}) {
      right = is_right<BFloat16, false>(bf16, s, c) && right;
      right = is_right<BFloat16, true>(bf16, s, c) && right;
      right = is_right<Half, false>(f16, s, c) && right;
    }
  }
  if (!right) return 1;
  if (asked("check")) return 0;
  const std::vector<Config> configs{{128, 256, 64, 0}, {128, 256, 128, 0}, {256, 128, 64, 0}, {128, 128, 64, 0},
                                    {128, 128, 64, 3}, {128, 128, 32, 0},  {64, 256, 64, 2}};
  const std::vector<Size> sizes = asked("quick")
                                      ? std::vector<Size>{{512, 512, 512}}
                                      : std::vector<Size>{{4096, 4096, 4096}, {8192, 8192, 8192}, {8192, 2304, 768}, {8192, 768, 768},
                                                          {8192, 3072, 768},  {8192, 768, 3072},  {8192, 50304, 768}};
  for (const Size& s : sizes) {
    measure<false>(s, configs);
    measure<true>(s, configs);
  }
}
