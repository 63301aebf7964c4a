// Products in the tile language beside the library's, on a GPU: first whether they are right, for sizes that no tile divides, then their rates.
// Rates are medians of replays, ours and the library's in turn. Usage: bench_tile_products [check] [quick] [bytes] [SIZE …], sizes as 4096x4096x4096, or
// bench_tile_products few: products of few rows, with an epilogue and of groups of rows, in the tiles that ops/products/product_tiles.h chooses;
// bench_tile_products rows: of 64 and 256 rows in tiles of their own;
// bench_tile_products stores: with results stored by threads and by the copy engine;
// bench_tile_products clusters: with blocks of a cluster that have parts of a tile, and bring each other what all of them need.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <tegula/bench.h>

#include "bench/measure.h"
#include "tegula/bench/tile_product.h"
#include "tegula/ops/products/product_tiles.h"

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

/// Rows of the product at the begin, in the middle and at the end, beside those of f64. For sizes that a product in f32 would take too long for.
bool has_right_rows(DType dtype, bool turned, const Size& s, const TileOfProduct& tile) {
  constexpr long long kRows = 8;
  const Tensor a = random_operand({s.m, s.k}, dtype), b = random_operand(turned ? Shape{s.n, s.k} : Shape{s.k, s.n}, dtype);
  const Tensor result = tile_product(a, b, turned, tile), wide = cast(turned ? transpose(b) : b, f64);
  double error = 0, size = 0;
  for (const long long first : {0ll, s.m / 2 - 3, s.m - kRows}) {
    const Tensor wanted = matmul(cast(slice(a, 0, {first, first + kRows}), f64), wide);
    error = std::max(error, max(abs(cast(slice(result, 0, {first, first + kRows}), f64) - wanted)).item<double>());
    size = std::max(size, max(abs(wanted)).item<double>());
  }
  const bool right = error <= size * 6e-3;
  std::printf("%s %lld x %lld x %lld %s, tile %s: error %.2e of %.1f, %s\n", std::string(name(dtype)).c_str(), s.m, s.n, s.k,
              turned ? "NT" : "NN", to_string(tile).c_str(), error, size, right ? "right" : "WRONG");
  std::fflush(stdout);
  return right;
}

std::string text(const ops::ProductTile& t) {
  return std::to_string(t.rows) + "x" + std::to_string(t.columns) + "x" + std::to_string(t.terms) + (t.turned ? "t" : "") +
         (t.splits > 1 ? "|" + std::to_string(t.splits) : "") + (t.blocks > 1 ? "x" + std::to_string(t.blocks) : "") +
         (t.specialize ? *t.specialize ? "+" : "-" : "") + (t.bulk ? "b" : "");
}
/// Microseconds of a replay.
template <class F>
double time_of(F&& f, const std::vector<Tensor>& inputs) {
  const BenchOptions options{.warmup = 10, .rep = 40, .clear_cache = false};
  return do_bench_cudagraph([&](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x)}; }, inputs, options).median() * 1e3;
}
/// Products in chosen tiles, and in others, or in the `given` ones; `fused`: gelu(product + bias).
void measure_chosen(const Size& s, bool turned, bool fused, const std::vector<ops::ProductTile>& given = {}) {
  const Tensor a = random_operand({s.m, s.k}, bf16), b = random_operand(turned ? Shape{s.n, s.k} : Shape{s.k, s.n}, bf16);
  const Tensor bias = random_operand({s.n}, bf16);
  const runtime::Expression epilogue =
      fused ? runtime::expression_of({.channel = true, .tensor = false, .rest = runtime::gelu(bf16)}) : runtime::Expression();
  const auto library = [&](const std::vector<Tensor>& x) {
    const Tensor product = matmul(x[0], turned ? transpose(x[1]) : x[1]);
    return fused ? gelu(product + x[2]) : product;
  };
  const auto ours = [&](const std::vector<Tensor>& x, const ops::ProductTile& tile) {
    return ops::product_tiles(x[0], x[1], turned, tile, epilogue, fused ? std::vector<Tensor>{x[2]} : std::vector<Tensor>());
  };
  const ops::ProductTile chosen = ops::choose_product_tile(s.m, s.n, s.k, 4 * 132, fused);
  std::vector<ops::ProductTile> tiles{chosen};
  const auto add_others = [&] {
    for (const std::int64_t splits : {chosen.splits / 2, chosen.splits * 2}) {
      if (splits < 1 || splits * chosen.terms > s.k || (fused && splits > 1)) continue;
      tiles.push_back(chosen), tiles.back().splits = splits;
    }
    for (const int blocks : {2, 4, 8}) {  // of a cluster in place of parts
      tiles.push_back(chosen), tiles.back().splits = 1, tiles.back().blocks = blocks;
      if (!chosen.turned) tiles.push_back({.rows = 128, .columns = 128, .blocks = blocks});
    }
    tiles.push_back(chosen), tiles.back().terms *= 2;
    tiles.push_back(chosen), tiles.back().specialize = true;
    if (fused)
      for (const bool specialize : {false, true})
        for (const int columns : {128, 256}) tiles.push_back({.rows = 128, .columns = columns, .specialize = specialize, .bulk = true});
    if (chosen.turned) tiles.push_back(chosen), tiles.back().columns *= 2;
    else
      for (const auto& [rows, columns] : {std::pair{128, 128}, {64, 128}, {64, 256}, {64, 64}, {128, 256}})
        tiles.push_back({.rows = rows, .columns = columns});
  };
  if (given.empty()) add_others();
  tiles.insert(tiles.end(), given.begin(), given.end());
  const std::vector<Tensor> inputs{a, b, bias};
  const Tensor wanted = library({cast(a, f32), cast(b, f32), cast(bias, f32)});
  const double error = max(abs(cast(ours(inputs, chosen), f32) - wanted)).item() / max(abs(wanted)).item();
  const double before = time_of(library, inputs);
  double own = 0, least = 0;
  std::string line;
  for (const ops::ProductTile& tile : tiles) try {
      const double time = time_of([&](const std::vector<Tensor>& x) { return ours(x, tile); }, inputs);
      const bool right = max(abs(cast(ours(inputs, tile), f32) - wanted)).item() <= 1e-2 * max(abs(wanted)).item();
      line += "  " + text(tile) + " " + std::to_string(time).substr(0, 5) + (right ? "" : " WRONG");
      if (own == 0) own = time;
      if (least == 0 || time < least) least = time;
    } catch (const Error&) { line += "  " + text(tile) + " refused"; }
  const double peer = std::min(before, time_of(library, inputs));
  std::printf("%s%lld x %lld x %lld %s  library %.1f us, chosen %.1f, %.3f, best %.3f; error %.1e;%s\n", fused ? "gelu " : "", s.m, s.n,
              s.k, turned ? "NT" : "NN", peer, own, peer / own, peer / least, error, line.c_str());
  std::fflush(stdout);
}
/// Groups of rows, each with a matrix of its own, beside one product of as many rows.
void measure_groups(std::int64_t rows, std::int64_t groups, std::int64_t columns, std::int64_t terms) {
  const Tensor x = random_operand({rows, terms}, bf16), weights = random_operand({groups, terms, columns}, bf16);
  std::vector<std::int64_t> ends;
  for (std::int64_t g = 0; g < groups; ++g) ends.push_back(rows * (g + 1) * (g + 2) / (groups * (groups + 1)));
  const Tensor all = tensor(ends, {groups});
  const std::vector<Tensor> inputs{x, weights, all, random_operand({terms, columns}, bf16)};
  const ops::ProductTile tile{.rows = 128, .columns = 128};
  double error = 0;
  const Tensor found = ops::grouped_product_tiles(x, weights, all, tile);
  for (std::int64_t g = 0, begin = 0; g < groups; begin = ends[static_cast<std::size_t>(g++)]) {
    const std::int64_t end = ends[static_cast<std::size_t>(g)];
    if (begin == end) continue;
    const Tensor wanted = matmul(cast(slice(x, 0, {begin, end}), f32), cast(reshape(slice(weights, 0, {g, g + 1}), {terms, columns}), f32));
    error = std::max<double>(error, max(abs(cast(slice(found, 0, {begin, end}), f32) - wanted)).item() / max(abs(wanted)).item());
  }
  const double own = time_of([&](const std::vector<Tensor>& y) { return ops::grouped_product_tiles(y[0], y[1], y[2], tile); }, inputs);
  const double peer = time_of([](const std::vector<Tensor>& y) { return matmul(y[0], y[3]); }, inputs);
  std::printf("%lld rows in %lld groups, x %lld x %lld: ours %.1f us, the library's one product %.1f, %.3f; error %.1e\n",
              static_cast<long long>(rows), static_cast<long long>(groups), static_cast<long long>(columns), static_cast<long long>(terms),
              own, peer, peer / own, error);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto asked = [&](const char* word) { return bench::asked(argc, argv, word); };
  bench::choose_device();
  if (asked("rows")) {
    using T = ops::ProductTile;
    const std::vector<T> of_64{{.rows = 64, .columns = 128, .terms = 128, .blocks = 4},
                               {.rows = 64, .columns = 256, .blocks = 8},
                               {.rows = 64, .columns = 64, .terms = 128, .blocks = 2},
                               {.rows = 64, .columns = 128, .turned = true, .blocks = 4},
                               {.rows = 64, .columns = 64, .terms = 128, .turned = true, .blocks = 4}},
        of_256{{.rows = 128, .columns = 256, .blocks = 4},
               {.rows = 256, .columns = 128, .blocks = 4},
               {.rows = 128, .columns = 128, .blocks = 2},
               {.rows = 64, .columns = 128, .terms = 128, .specialize = true},
               {.rows = 256, .columns = 128, .terms = 128, .blocks = 4, .specialize = true},
               {.rows = 128, .columns = 128, .terms = 64, .blocks = 2, .specialize = true},
               {.rows = 128, .columns = 128, .terms = 128, .blocks = 2, .specialize = true}};
    for (const bool turned : {false, true}) measure_chosen({64, 4096, 4096}, turned, false, of_64);
    for (const bool turned : {false, true}) measure_chosen({256, 4096, 4096}, turned, false, of_256);
    return 0;
  }
  if (asked("few")) {
    for (const long long m : {16, 64, 256}) measure_chosen({m, 4096, 4096}, false, false), measure_chosen({m, 4096, 4096}, true, false);
    for (const Size& s : {Size{8192, 3072, 768}, {4096, 4096, 4096}, {1024, 4096, 1024}}) measure_chosen(s, false, true);
    measure_groups(8192, 8, 2048, 1024);
    return 0;
  }
  bool right = true;
  if (asked("clusters")) {
    const auto in_parts = [](int rows, int columns, int blocks, int group) {
      return TileOfProduct{.rows = rows, .columns = columns, .specialize = true, .bulk = true, .blocks = blocks, .group = group};
    };
    const std::vector<TileOfProduct> tiles{{128, 256, 64, 0, false, 0, true}, {128, 256, 64, 0, true, 0, true}, in_parts(256, 256, 2, 4),
                                           in_parts(256, 256, 2, 8),          in_parts(128, 512, 2, 8),         in_parts(512, 128, 2, 4)};
    for (const Size& s : {Size{200, 264, 328}, {1000, 520, 208}, {2000, 1032, 520}})
      for (const TileOfProduct& tile : tiles)
        for (const bool turned : {false, true}) right = is_right(bf16, turned, s, tile) && right;
    const Size large[] = {{4096, 4096, 4096}, {8192, 8192, 8192}, {8192, 4096, 4096}};
    for (const TileOfProduct& tile : tiles) right = has_right_rows(bf16, tile.blocks == 0, large[0], tile) && right;
    if (!right) return 1;
    for (const Size& s : large)
      for (const bool turned : {false, true}) measure(bf16, turned, s, tiles);
    return 0;
  }
  if (asked("stores")) {
    std::vector<TileOfProduct> tiles;
    for (const TileOfProduct& one : {TileOfProduct{128, 256, 64}, {256, 128, 64}, {128, 128, 64}}) {
      for (const int how : {0, 1, 2, 3}) {
        tiles.push_back(one);
        tiles.back().specialize = how >= 2, tiles.back().bulk = how % 2 != 0;
      }
    }
    for (const Size& s : {Size{200, 264, 328}, {1000, 520, 208}})
      for (const TileOfProduct& tile : tiles)
        for (const bool turned : {false, true}) right = is_right(bf16, turned, s, tile) && right;
    if (!right) return 1;
    for (const Size& s : {Size{4096, 4096, 4096}, {8192, 8192, 8192}, {8192, 3072, 768}, {256, 4096, 4096}})
      for (const bool turned : {false, true}) measure(bf16, turned, s, tiles);
    return 0;
  }
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
