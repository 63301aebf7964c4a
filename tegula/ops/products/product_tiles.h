#pragma once
// Products of matrices as tile programs: few rows by many instances that share the terms, an epilogue of the sums, and products of groups of rows in one launch.

#include <optional>
#include <span>
#include <vector>

#include "tegula/graph/in_tiles.h"
#include "tegula/graph/tensor.h"
#include "tegula/runtime/expression.h"

namespace tegula::ops {

/// Sums of a program instance, and how they come about.
struct ProductTile {
  std::int64_t rows = 128, columns = 256, terms = 64;  // of the result's tile, and terms of an iteration
  bool turned =
      false;  // an instance computes the tile with its axes turned: few rows are columns of what tensor cores add up, in 64 rows or more
  std::int64_t splits = 1;  // of the terms: the parts' sums are added in their order
  int blocks = 1;  // of a cluster, which do the iterations of a part between them (RangeHints::num_ctas)
  std::int64_t group = 8;  // rows of tiles whose instances come together, so that operands stay in the cache
  int stages = 0;  // of the loop; 0: the generator decides
  std::optional<bool> specialize = {};  // the loop's warp_specialize
  bool bulk = false;  // the copy engine stores the result (tile::Cache::Bulk)
  bool operator==(const ProductTile&) const = default;
};

/// The tile for a product (M, K) · (K, N) of halves, from a table of rates (H200). `instances`: how many keep a device busy (KernelContext::instances);
/// `follows`: an epilogue does.
ProductTile choose_product_tile(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t instances, bool follows = false);

/// Tiles that are worth a try, the least time by the same table first: one of each kind of sums, and the same parts by blocks of a cluster; four at most.
std::vector<ProductTile> product_tile_choices(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t instances, bool follows = false);

/// The programs for a product of halves whose result and left operand lie in rows, the right operand in rows or columns.
std::vector<TileWay> product_ways(const runtime::Matmul& product, const InTiles::Operands& operands, std::int64_t instances);

/// a (M, K) times b, (K, N) or, where it is turned, (N, K): both f16 or both bf16, as the result (M, N) is; sums are f32. `epilogue` makes the result of each sum;
/// `read` are its vectors by column (N), tensors (M, N) and numbers, in their order.
bool describes_product_tiles(const Tensor& a, const Tensor& b);
Tensor product_tiles(const Tensor& a, const Tensor& b, bool turned, const ProductTile& tile, const runtime::Expression& epilogue = {},
                     std::span<const Tensor> read = {});

/// x (T, K), whose rows are in groups that follow each other, times the matrix of each row's group, weights (G, K, N): (T, N). `ends` (G) i64: where groups end;
/// rows behind the last one are 0. One launch, of any ends.
Tensor grouped_product_tiles(const Tensor& x, const Tensor& weights, const Tensor& ends, const ProductTile& tile);

}  // namespace tegula::ops
