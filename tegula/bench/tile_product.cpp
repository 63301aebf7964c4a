#include "tegula/bench/tile_product.h"

#include "tegula/core/error.h"
#include "tegula/ops/tile_jit.h"

namespace tegula {

namespace {

namespace kernels {
using namespace tegula::tile;

template <class T, class R, bool kTurned>
const auto product =
    jit("product", [](Ptr<T> a, Ptr<T> b, Out<R> c, Named<Int, "M"> M, Named<Int, "N"> N, Named<Int, "K"> K, Const<int, "BM"> BM,
                      Const<int, "BN"> BN, Const<int, "BK"> BK, Const<int, "STAGES"> STAGES, Const<int, "ROLES"> ROLES,
                      Const<int, "IMPRECISE"> IMPRECISE, Const<int, "BULK"> BULK, Const<int, "BLOCKS"> BLOCKS, Const<int, "GROUP"> GROUP) {
      auto pid = program_id(0);
      auto tiles_m = cdiv(M, BM), tiles_n = cdiv(N, BN);
      auto in_group = tiles_n * GROUP;
      auto first_m = pid / in_group * GROUP;
      auto height = minimum(tiles_m - first_m, GROUP);
      auto m = (first_m + pid % in_group % height) * BM + arange(0, BM), n = pid % in_group / height * BN + arange(0, BN);
      using Sum = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;
      auto acc = zeros<Sum>({BM, BN});
      const DotOptions options{.input_precision = InputPrecision::TF32, .max_num_imprecise_acc = IMPRECISE};
      const std::optional<bool> roles = ROLES < 0 ? std::nullopt : std::optional<bool>(ROLES > 0);
      for (auto at : range(0, K, BK, {.num_stages = STAGES, .warp_specialize = roles, .num_ctas = static_cast<std::uint8_t>(BLOCKS)})) {
        auto k = at + arange(0, BK);
        auto x = load(a + col(m) * K + row(k), col(m) < M && row(k) < K);
        if (kTurned) acc = dot(x, trans(load(b + col(n) * K + row(k), col(n) < N && row(k) < K)), acc, options);
        else acc = dot(x, load(b + col(k) * N + row(n), col(k) < K && row(n) < N), acc, options);
      }
      store(c + col(m) * N + row(n), acc, col(m) < M && row(n) < N, {.cache_modifier = BULK > 0 ? Cache::Bulk : Cache::Wb});
    });
}  // namespace kernels

struct Launched {
  const Tensor &a, &b;
  bool turned;
  const TileOfProduct& tile;

  template <class T, class R>
  Tensor as() const {
    return turned ? launch<T, R, true>() : launch<T, R, false>();
  }
  template <class T, class R, bool kTurned>
  Tensor launch() const {
    const std::int64_t m = a.size(0), k = a.size(1), n = b.size(kTurned ? 0 : 1);
    const int roles = tile.specialize ? static_cast<int>(*tile.specialize) : -1;
    const Dims grid{tile::cdiv(m, std::int64_t{tile.rows}) * tile::cdiv(n, std::int64_t{tile.columns})};
    return kernels::product<T, R, kTurned>(grid, a, b, tile::out({m, n}), m, n, k, tile.rows, tile.columns, tile.terms, tile.stages, roles,
                                           tile.imprecise_terms, static_cast<int>(tile.bulk), tile.blocks, tile.group)[0];
  }
};

}  // namespace

std::string to_string(const TileOfProduct& tile) {
  return std::to_string(tile.rows) + "x" + std::to_string(tile.columns) + "x" + std::to_string(tile.terms) +
         (tile.stages > 0 ? "/" + std::to_string(tile.stages) : "") + (tile.specialize ? *tile.specialize ? "+" : "-" : "") +
         (tile.bulk ? "b" : "") + (tile.blocks > 0 ? "c" + std::to_string(tile.blocks) : "") +
         (tile.group != 8 ? "g" + std::to_string(tile.group) : "");
}

Tensor tile_product(const Tensor& a, const Tensor& b, bool turned, const TileOfProduct& tile, Line where) {
  const bool fits = a.shape().rank() == 2 && b.shape().rank() == 2 && a.dtype() == b.dtype() && a.size(1) == b.size(turned ? 1 : 0);
  const Launched launched{a, b, turned, tile};
  if (fits) {
    switch (a.dtype()) {
      case DType::bf16: return launched.as<BFloat16, BFloat16>();
      case DType::f16: return launched.as<Half, Half>();
      case DType::f32: return launched.as<float, float>();
      case DType::e4m3: return launched.as<E4M3, BFloat16>();
      case DType::e5m2: return launched.as<E5M2, BFloat16>();
      case DType::i8: return launched.as<std::int8_t, std::int32_t>();
      default: break;
    }
  }
  throw Error({.op = "tile_product",
               .got = std::string(name(a.dtype())) + to_string(a.shape()) + " and " + std::string(name(b.dtype())) + to_string(b.shape()),
               .expected = turned ? "(M, K) and (N, K) of one dtype: bf16, f16, f32, e4m3, e5m2, i8"
                                  : "(M, K) and (K, N) of one dtype: bf16, f16, f32, e4m3, e5m2, i8",
               .where = where});
}

}  // namespace tegula
