#pragma once
// The product of matrices in the tile language whose rates benchmarks tell.

#include <cstdint>
#include <optional>
#include <string>

#include "tegula/graph/tensor.h"

namespace tegula {

/// Sums of a program instance and terms of an iteration, as rows x columns x terms; hints of its loop (tile/language/control.h).
struct TileOfProduct {
  int rows = 128, columns = 256, terms = 64;
  int stages = 0;  // 0: the generator decides
  std::optional<bool> specialize = {};  // warp_specialize; nothing: the generator decides
  int imprecise_terms = 0;  // max_num_imprecise_acc, of floats of 8 bits
  bool bulk = false;  // the copy engine stores results of halves (tile::Cache::Bulk); else threads do
  int blocks =
      0;  // num_ctas: with specialize each block of a cluster has a part of the rows or, if there are more of these, of the columns
  int group = 8;  // rows of tiles whose instances come together
};
/// "128x256x64"; then "/3" for stages, "+" or "-" for specialize, "b" for bulk, "c2" for blocks, "g4" for a group that is not 8.
std::string to_string(const TileOfProduct& tile);

/// a (M, K) times b, (K, N) or where it is turned (N, K): both bf16, f16, e4m3, e5m2, i8, or f32, which is multiplied as TF32. The result (M, N) has the operands'
/// dtype; of floats of 8 bits it is bf16, of i8 i32. Instances go in groups of rows of tiles, whose operands stay in the cache. Throws Error for other
/// shapes and dtypes.
Tensor tile_product(const Tensor& a, const Tensor& b, bool turned, const TileOfProduct& tile = {}, Line where = Line::current());

}  // namespace tegula
