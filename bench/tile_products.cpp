// Products in the tile language beside the library's, on a GPU: first whether they are right, for sizes that no tile divides, then their rates.
// Rates are medians of replays, ours and the library's in turn. Usage: bench_tile_products [check] [quick] [bytes] [SIZE …], sizes as 4096x4096x4096

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <tegula/bench.h>

#include "bench/measure.h"
#include "tegula/bench/tile_product.h"

using namespace tegula;

namespace {

struct Size {
  long long m, n, k;
};

Tensor random_operand(const Shape& shape, DType dtype) {
  if (dtype == i8) return cast(floor(uniform(shape, -4, 5)), i8);
  return cast(normal(shape, 0, 1, {.dtype = is_float8(dtype) ? f32 : dtype}), dtype);
}

/// A tile that the card has not enough shared memory for is refused by an Error: it says so, and is not wrong.
bool is_right(DType dtype, bool turned, const Size& s, const TileOfProduct& tile) try {
  const Tensor a = random_operand({s.m, s.k}, dtype), b = random_operand(turned ? Shape{s.n, s.k} : Shape{s.k, s.n}, dtype);
  const Tensor wanted = matmul(cast(a, f32), cast(turned ? transpose(b) : b, f32));
  const Tensor result = tile_product(a, b, turned, tile);
  const double error = max(abs(cast(result, f32) - wanted)).item(), size = max(abs(wanted)).item();
  const bool right = error <= size * (dtype == i8 ? 0 : result.dtype() == bf16 ? 6e-3 : 1e-3);
  std::printf("%s %lld x %lld x %lld %s, tile %s: error %.2e of %.1f, %s\n", std::string(name(dtype)).c_str(), s.m, s.n, s.k,
              turned ? "NT" : "NN", to_string(tile).c_str(), error, size, right ? "right" : "WRONG");
  std::fflush(stdout);
  return right;
} catch (const Error& refused) {
  std::printf("%s %lld x %lld x %lld %s, tile %s: refused, %s\n", std::string(name(dtype)).c_str(), s.m, s.n, s.k, turned ? "NT" : "NN",
              to_string(tile).c_str(), refused.report().got.c_str());
  std::fflush(stdout);
  return refused.report().got.find("shared memory") != std::string::npos;
}

void measure(DType dtype, bool turned, const Size& s, const std::vector<TileOfProduct>& tiles) {
  const Tensor a = random_operand({s.m, s.k}, dtype), b = random_operand(turned ? Shape{s.n, s.k} : Shape{s.k, s.n}, dtype);
  const double flops = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  const BenchOptions options{.warmup = 40, .rep = 120, .clear_cache = false};
  const auto rate = [&](auto&& f) {
    return flops /
           (do_bench_cudagraph([&](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x)}; }, {a, b}, options).median() * 1e-3) /
           1e12;
  };
  const bool has_peer = is_half(dtype) || dtype == f32;
  const PrecisionScope arithmetic(dtype == f32 ? Precision::tf32 : Precision::fp32);
  const auto library = [&] {
    return has_peer ? rate([&](const std::vector<Tensor>& x) { return matmul(x[0], turned ? transpose(x[1]) : x[1]); }) : 0;
  };
  double before = library(), best = 0;
  std::string line;
  TileOfProduct chosen;
  for (const TileOfProduct& tile : tiles) {
    const double own = rate([&](const std::vector<Tensor>& x) { return tile_product(x[0], x[1], turned, tile); });
    char part[64];
    std::snprintf(part, sizeof part, "  %s %.0f", to_string(tile).c_str(), own);
    line += part;
    if (own > best) best = own, chosen = tile;
  }
  const double behind = library(), peer = (before + behind) / 2;
  std::printf("%s %6lld x %6lld x %5lld %s  library %.0f TFLOP/s, ours %.0f (%s), ratio %.3f;%s\n", std::string(name(dtype)).c_str(), s.m,
              s.n, s.k, turned ? "NT" : "NN", peer, best, to_string(chosen).c_str(), has_peer ? best / peer : 0, line.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto asked = [&](const char* word) { return bench::asked(argc, argv, word); };
  bench::choose_device();
  bool right = true;
  for (const Size& s : {Size{200, 264, 328}, {1000, 520, 208}, {129, 77, 65}, {2000, 3000, 520}}) {
    for (const TileOfProduct& tile : {TileOfProduct{128, 128, 64}, {64, 64, 32, 2}, {128, 256, 64}}) {
      for (const std::optional<bool> specialize : {std::optional(false), std::optional(true)}) {
        TileOfProduct one = tile;
        one.specialize = specialize;
        for (const bool turned : {false, true}) right = is_right(bf16, turned, s, one) && right;
        right = is_right(f16, false, s, one) && right;
        one.terms *= 2;
        for (const DType dtype : {e4m3, i8}) right = is_right(dtype, true, s, one) && right;
      }
    }
    right = is_right(e4m3, true, s, {128, 128, 128, 0, {}, 128}) && right;
    right = is_right(f32, false, s, {128, 128, 32}) && right;
  }
  if (!right) return 1;
  if (asked("check")) return 0;
  std::vector<Size> sizes;
  for (int i = 1; i < argc; ++i)
    if (Size s{}; std::sscanf(argv[i], "%lldx%lldx%lld", &s.m, &s.n, &s.k) == 3) sizes.push_back(s);
  if (asked("quick")) sizes = {{512, 512, 512}};
  if (sizes.empty())
    sizes = {{4096, 4096, 4096}, {8192, 8192, 8192}, {8192, 2304, 768}, {8192, 768, 768},
             {8192, 3072, 768},  {8192, 768, 3072},  {8192, 50304, 768}};
  std::vector<TileOfProduct> tiles;
  for (const bool specialize : {false, true})
    for (const TileOfProduct& one : {TileOfProduct{128, 256, 64}, {256, 128, 64}, {128, 128, 64}, {128, 128, 64, 3}, {64, 256, 64, 2}}) {
      tiles.push_back(one);
      tiles.back().specialize = specialize;
    }
  for (const Size& s : sizes) {
    if (asked("bytes")) {
      for (const bool specialize : {false, true})
        measure(e4m3, true, s, {{128, 256, 128, 0, specialize}, {128, 128, 128, 0, specialize}, {128, 128, 128, 0, specialize, 128}});
      measure(i8, true, s, {{128, 256, 128, 0, false}, {128, 256, 128, 0, true}, {128, 128, 128, 0, true}});
      measure(f32, false, s, {{128, 128, 32}, {64, 128, 32}, {128, 64, 32}});
      continue;
    }
    for (const bool turned : {false, true}) measure(bf16, turned, s, tiles);
  }
}
