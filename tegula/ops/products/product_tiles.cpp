#include "tegula/ops/products/product_tiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "tegula/core/divide.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/products/tile_epilogue.h"
#include "tegula/ops/products/typed_launch.h"

namespace tegula::ops {
namespace {

using runtime::Expression;
using tile::Tile, tile::arange, tile::col, tile::row;

tile::RangeHints hints_of(const ProductTile& tile) {
  tile::RangeHints hints;
  hints.num_stages = tile.stages, hints.warp_specialize = tile.specialize;
  hints.num_ctas = static_cast<std::uint8_t>(tile.blocks);
  return hints;
}
void visit_tile(Attributes& a, ProductTile& tile) {
  a("rows", tile.rows), a("columns", tile.columns), a("terms", tile.terms), a("tile_turned", tile.turned), a("splits", tile.splits),
      a("blocks", tile.blocks);
  a("group", tile.group), a("stages", tile.stages), a("specialize", tile.specialize), a("bulk", tile.bulk);
}
double operations(std::int64_t rows, std::int64_t columns, std::int64_t terms) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(terms);
}

/// (M, K) · (K, N), or · (N, K) turned.
class ProductTilesOp final : public KernelOp {
 public:
  ProductTilesOp(bool turned, const ProductTile& tile, const Expression& epilogue)
      : turned_(turned),
        tile_(tile),
        epilogue_(epilogue),
        written_(numbers_of(epilogue)) {}
  std::string_view name() const override { return "product_tiles"; }
  void attributes(Attributes& a) override {
    a("turned", turned_);
    visit_tile(a, tile_);
    a("epilogue", written_);
  }

  void lower(KernelContext& context) const override {
    const std::int64_t rows = context.input(0).shape[0], terms = context.input(0).shape[1], columns = context.output().shape[1];
    const std::int64_t down = divide_up(rows, tile_.rows), across = divide_up(columns, tile_.columns);
    const int scratch = tile_.splits == 1 ? -1 : context.scratch(tile_.splits * rows * columns * static_cast<std::int64_t>(sizeof(float)));
    {
      TypedLaunch k(context, std::string(name()));
      auto a = k.typed_input(0), b = k.typed_input(1);
      auto M = k.number(rows), N = k.number(columns), K = k.number(terms);
      auto tiles_m = k.number(down), tiles_n = k.number(across),
           share = k.number(divide_up(divide_up(terms, tile_.terms), tile_.splits) * tile_.terms);
      auto pid = tile::program_id(0), part = tile::program_id(1), in_group = tiles_n * tile_.group;
      auto first_m = pid / in_group * tile_.group, left = tiles_m - first_m;
      auto height = where(left < tile_.group, left, tile_.group);
      auto m = (first_m + pid % in_group % height) * tile_.rows + arange(0, tile_.rows);
      auto n = pid % in_group / height * tile_.columns + arange(0, tile_.columns);
      auto begin = part * share, end = where(begin + share < K, begin + share, K);
      auto acc = tile::full_of(tile_.turned ? Shape{tile_.columns, tile_.rows} : Shape{tile_.rows, tile_.columns}, 0, f32);
      for (auto at : tile::range(begin, end, tile_.terms, hints_of(tile_))) {
        auto t = at + arange(0, tile_.terms);
        auto x = load(a + (col(m) * K + row(t)), col(m) < M && row(t) < K);  // (M, K)
        auto y =
            turned_ ? load(b + (col(n) * K + row(t)), col(n) < N && row(t) < K) : load(b + (col(t) * N + row(n)), col(t) < K && row(n) < N);
        if (tile_.turned) acc = dot(turned_ ? y : trans(y), trans(x), acc);
        else acc = dot(x, turned_ ? trans(y) : y, acc);
      }
      const auto along = [&](const Tile& line, bool is_row) { return is_row != tile_.turned ? col(line) : row(line); };
      auto place = along(m, true) * N + along(n, false);
      const auto inside = along(m, true) < M && along(n, false) < N;
      if (tile_.splits > 1) {
        store(k.scratch(scratch, f32, true) + (part * (M * N) + place), acc, inside);
      } else {
        int input = 2;
        auto value = made_of(epilogue_, acc, [&](Expression::Source source) -> Tile {
          auto from = k.input(input++);
          if (source == Expression::Source::Channel) return along(load(from + n, n < N), false);
          return source == Expression::Source::Number ? load(from) : load(from + place, inside);
        });
        store(k.output() + place, value, inside, {.cache_modifier = tile_.bulk ? tile::Cache::Bulk : tile::Cache::Default});
      }
      k.launch({down * across, tile_.splits, 1}, operations(rows, columns, terms));
    }
    if (tile_.splits > 1) add_parts(context, scratch, rows * columns, columns);
  }

 private:
  void add_parts(KernelContext& context, int scratch, std::int64_t size, std::int64_t columns) const {
    const std::int64_t block = context.tile_elements_for(size);
    TileLaunch k(context, "product_tiles_sum");
    auto from = k.scratch(scratch, f32, false);
    auto length = k.number(size), N = k.number(columns), at = k.positions(0, block);
    auto total = load(from + at, at < length);
    for (std::int64_t part = 1; part < tile_.splits; ++part) total += load(from + (length * part + at), at < length);
    int input = 2;
    auto value = made_of(epilogue_, total, [&](Expression::Source source) -> Tile {
      auto one = k.input(input++);
      return source == Expression::Source::Number ? load(one)
                                                  : load(one + (source == Expression::Source::Channel ? at % N : at), at < length);
    });
    store(k.output() + at, value, at < length);
    k.launch({divide_up(size, block), 1, 1}, static_cast<double>(tile_.splits * size));
  }

  bool turned_;
  ProductTile tile_;
  Expression epilogue_;
  std::vector<std::int64_t> written_;  // the epilogue, as an attribute
};

/// Each instance looks for its group: the tiles of the groups before it are counted.
class GroupedProductTilesOp final : public KernelOp {
 public:
  explicit GroupedProductTilesOp(const ProductTile& tile) : tile_(tile) {}
  std::string_view name() const override { return "grouped_product_tiles"; }
  void attributes(Attributes& a) override { visit_tile(a, tile_); }

  void lower(KernelContext& context) const override {
    const Shape &of_x = context.input(0).shape, &of_w = context.input(1).shape;
    const std::int64_t all = of_x[0], terms = of_x[1], groups = of_w[0], columns = of_w[2], across = divide_up(columns, tile_.columns);
    const std::int64_t most = divide_up(all, tile_.rows) + groups;  // tiles of rows: each group may begin one, and rows behind the last
    TypedLaunch k(context, std::string(name()));
    auto x = k.typed_input(0), w = k.typed_input(1), ends = k.input(2), y = k.output();
    auto T = k.number(all), N = k.number(columns), K = k.number(terms), G = k.number(groups), tiles_n = k.number(across);
    auto pid = tile::program_id(0), number = pid / tiles_n, n = pid % tiles_n * tile_.columns + arange(0, tile_.columns);
    Tile group = G, first = 0, last = 0, before = 0, begin = 0;
    for (auto g : tile::range(0, G + 1)) {  // the group G is of the rows behind
      auto until = where(g < G, load(ends + g, g < G), T);
      auto tiles = (until - begin + (tile_.rows - 1)) / tile_.rows;
      auto here = number >= before && number < before + tiles;
      group = where(here, g, group), first = where(here, begin + (number - before) * tile_.rows, first), last = where(here, until, last);
      before += tiles, begin = until;
    }
    if_(first < last, [&] {
      auto m = first + arange(0, tile_.rows);
      auto acc = tile::full_of({tile_.rows, tile_.columns}, 0, f32);
      auto until = where(group < G, K, 0);
      for (auto at : tile::range(0, until, tile_.terms, hints_of(tile_))) {
        auto t = at + arange(0, tile_.terms);
        auto left = load(x + (col(m) * K + row(t)), col(m) < T && row(t) < K);
        acc = dot(left, load(w + (group * (K * N) + (col(t) * N + row(n))), col(t) < K && row(n) < N), acc);
      }
      store(y + (col(m) * N + row(n)), acc, col(m) < last && row(n) < N);
    });
    k.launch({most * across, 1, 1}, operations(all, columns, terms));
  }

 private:
  ProductTile tile_;
};

}  // namespace

bool describes_product_tiles(const Tensor& a, const Tensor& b) {
  return a.rank() == 2 && b.rank() == 2 && is_half(a.dtype()) && a.dtype() == b.dtype() && a.numel() > 0 && b.numel() > 0;
}

namespace {

constexpr std::int64_t kInstancesOfProcessor = 4;  // that `instances` counts (simt/card.cpp)
constexpr std::int64_t kFewRows = 128, kLeastTerms = 256;  // of a part

/// Returns the tile with more terms at a time if it is small, and no part that is empty.
ProductTile settled(ProductTile tile, std::int64_t K) {
  // H200, 256 x 4096 x 4096, us: 27.2 and 20.3 by 128 terms.
  if (!tile.turned && tile.rows * tile.columns <= 64 * 128 && K >= 2048) tile.terms = 128;
  tile.splits = divide_up(divide_up(K, tile.terms), divide_up(divide_up(K, tile.terms), tile.splits));
  return tile;
}

std::string text_of(const ProductTile& tile) {
  const auto n = [](std::int64_t number) { return std::to_string(number); };
  return "tiles " + n(tile.rows) + "x" + n(tile.columns) + "x" + n(tile.terms) + (tile.turned ? " turned" : "") +
         (tile.splits > 1 ? " in " + n(tile.splits) + " parts" : "") + (tile.blocks > 1 ? " by " + n(tile.blocks) + " blocks" : "");
}

/// The same parts, or half of them, a quarter …, by blocks of a cluster.
ProductTile in_a_cluster(ProductTile tile) {
  constexpr std::uint64_t kMostBlocks = 8;
  tile.blocks = static_cast<int>(std::bit_floor(std::min(static_cast<std::uint64_t>(tile.splits), kMostBlocks)));
  tile.splits = 1;
  return tile;
}

/// Tiles for products of few rows. Their time is that of memory: two instances or more for each multiprocessor, each of which reads its part of b once.
std::vector<ProductTile> tiles_of_few_rows(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t processors) {
  ProductTile tile;
  tile.turned = true, tile.columns = 64, tile.terms = 64;
  tile.rows = std::max<std::int64_t>(16, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(M))));
  const std::int64_t most = std::max<std::int64_t>(K / kLeastTerms, 1);
  tile.splits = std::clamp<std::int64_t>(2 * processors / divide_up(N, tile.columns), 1, most);
  std::vector<ProductTile> out{settled(tile, K)};
  const auto add = [&](ProductTile other) {
    other.splits = std::clamp<std::int64_t>(other.splits, 1, most);
    other = settled(other, K);
    if (std::ranges::find(out, other) == out.end()) out.push_back(other);
  };
  ProductTile other = tile;
  other.splits /= 2, add(other);
  other.splits = tile.splits, other.terms = 128, add(other);
  if (tile.splits > 1) add(in_a_cluster(tile));
  return out;
}

}  // namespace

std::vector<ProductTile> product_tile_choices(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t instances, bool follows) {
  const std::int64_t processors = std::max<std::int64_t>(instances / kInstancesOfProcessor, 1);
  if (M <= kFewRows) return tiles_of_few_rows(M, N, K, processors);
  // Rates of a multiprocessor's tiles, of the largest one's: H200, bf16, 4096³ (decide/products.cpp, docs/benchmarks_gpu.md); `beside`: how many it has at a time.
  struct Row {
    std::int64_t rows, columns;
    double rate;
    double beside;
  };
  constexpr Row kRows[] = {{128, 256, 1.0, 1}, {256, 128, 0.98, 1}, {128, 128, 0.93, 2},
                           {64, 256, 0.8, 2},  {64, 128, 0.7, 3},   {64, 64, 0.5, 4}};
  constexpr std::size_t kMost = 4;
  constexpr double kOperations = 5e6;  // of a multiprocessor, in a microsecond
  constexpr double kLaunch = 3, kBytes = 3e6;  // microseconds of the launch that adds parts; what it moves in one
  const double around = follows ? 8 : 2.5;  // microseconds of the first copies and of the results, which another tile beside it hides
  std::vector<std::pair<double, ProductTile>> all;
  for (const Row& one : kRows) {
    ProductTile best;
    double least = -1;
    for (std::int64_t splits = 1; splits <= std::max<std::int64_t>(K / (2 * kLeastTerms), 1); splits *= 2) {
      const auto tiles = static_cast<double>(divide_up(M, one.rows) * divide_up(N, one.columns) * splits),
                 count = static_cast<double>(processors);
      const double rounds = std::ceil(tiles / (count * one.beside)), share = std::min(one.beside, std::ceil(tiles / count));
      const double products = 2.0 * static_cast<double>(one.rows * one.columns) * static_cast<double>(divide_up(K, splits));
      double time = rounds * (share * products / (one.rate * kOperations) + (one.beside > 1 ? around / 2 : around));
      if (splits > 1) time += kLaunch + 8.0 * static_cast<double>(M * N * splits) / kBytes;
      if (least >= 0 && time >= least) continue;
      least = time;
      best.rows = one.rows, best.columns = one.columns, best.splits = splits;
    }
    all.emplace_back(least, settled(best, K));
  }
  std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first; });
  std::vector<ProductTile> out;
  for (const auto& [time, tile] : all)
    if (out.size() < kMost) out.push_back(tile);
  const auto parts = std::ranges::find_if(out, [](const ProductTile& tile) { return tile.splits > 1; });
  if (parts != out.end()) out.back() = in_a_cluster(*parts);  // in place of the least likely one
  return out;
}

ProductTile choose_product_tile(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t instances, bool follows) {
  return product_tile_choices(M, N, K, instances, follows).front();
}

std::vector<TileWay> product_ways(const runtime::Matmul& product, const InTiles::Operands& operands, std::int64_t instances) {
  constexpr std::int64_t kLine = 8;  // halves that memory and the copy engine move at a time
  const Layout &a = product.a.layout, &b = product.b.layout, &c = product.c.layout;
  if (a.shape.rank() != 2 || !is_half(product.dtype()) || product.multiplies_codes() || product.b.blocks) return {};
  const std::int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1];
  if (numel(c.shape) == 0 || K == 0 || N % kLine != 0 || K % kLine != 0) return {};
  const auto lies = [](const Layout& x, std::int64_t down, std::int64_t across) {
    return (x.shape[0] == 1 || x.strides[0] == down) && (x.shape[1] == 1 || x.strides[1] == across);
  };
  const bool in_rows = lies(b, N, 1), in_columns = lies(b, 1, K);
  if (!lies(a, K, 1) || !lies(c, N, 1) || (!in_rows && !in_columns)) return {};
  TileWay way{.inputs = {operands.inputs.begin(), operands.inputs.end()}, .outputs = {operands.outputs.begin(), operands.outputs.end()}};
  if (!in_rows) way.inputs[1] = {{N, K}, way.inputs[1].dtype, {K, 1}};
  std::vector<TileWay> ways;
  for (const ProductTile& tile : product_tile_choices(M, N, K, instances, !product.epilogue.is_empty())) {
    way.op = Ref<const Op>(new ProductTilesOp(!in_rows, tile, product.epilogue));
    way.text = text_of(tile);
    ways.push_back(way);
  }
  return ways;
}

Tensor product_tiles(const Tensor& a, const Tensor& b, bool turned, const ProductTile& tile, const Expression& epilogue,
                     std::span<const Tensor> read) {
  std::vector<Tensor> inputs{a, b};
  inputs.insert(inputs.end(), read.begin(), read.end());
  return make_node(Ref<const Op>(new ProductTilesOp(turned, tile, epilogue)), inputs, {a.shape()[0], b.shape()[turned ? 0 : 1]}, a.dtype(),
                   {});
}

Tensor grouped_product_tiles(const Tensor& x, const Tensor& weights, const Tensor& ends, const ProductTile& tile) {
  return make_node(Ref<const Op>(new GroupedProductTilesOp(tile)), {x, weights, graph::cast(ends, i64, {})},
                   {x.shape()[0], weights.shape()[2]}, x.dtype(), {});
}

}  // namespace tegula::ops
