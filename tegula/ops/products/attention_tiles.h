#pragma once
// Attention of many queries as one tile program: both products by tensor cores, the scores in registers.

#include <span>
#include <vector>

#include "tegula/graph/in_tiles.h"
#include "tegula/graph/tensor.h"
#include "tegula/ops/products/attention_op.h"

namespace tegula::ops {

/// Attention (inputs and results as of attention_nodes) by "FlashAttention-2" (Dao, 2023): an instance has a block of queries and walks over blocks of keys; of
/// each row it carries the greatest score, the sum of exponentials and the sum of values. Keys before the diagonal are not masked. The blocks with most keys come
/// first, and heads beside each other, so that their keys stay in the cache.
bool describes_attention_tiles(const AttentionForm& form, std::span<const Shape> inputs, DType dtype);
/// `keys`: of a block, 64 or 128; 0: what is faster at this width with 64 queries. `queries`: the same of a block, multiples of 64; 0: 64.
std::vector<Tensor> attention_tiles_nodes(const AttentionForm& form, std::span<const Tensor> inputs, std::int64_t keys = 0,
                                          std::int64_t queries = 0);

/// Keys and queries of a block.
struct AttentionBlocks {
  std::int64_t keys = 0, queries = 0;
  bool operator==(const AttentionBlocks&) const = default;
};
/// What is fastest on such a device, where attention was measured; `inputs`: as of describes_attention_tiles, which holds for them.
AttentionBlocks attention_blocks(const AttentionForm& form, std::span<const Shape> inputs, const tile::TilePreference& tiles);

/// In those blocks.
std::vector<Tensor> attention_tiles_nodes(const AttentionForm& form, std::span<const Tensor> inputs, const tile::TilePreference& tiles);

/// Its gradients (inputs and results as of plain_attention_gradients; nobody may want the last one): a pass over blocks of keys for those of keys and values, one over
/// blocks of queries for those of queries.
bool describes_attention_tiles_backward(const AttentionForm& form, std::span<const Shape> inputs, DType dtype);
/// `blocks`: keys of a block of the one pass, queries of a block of the other one, multiples of 64; 0: 64.
std::vector<Tensor> attention_tiles_gradients(const AttentionForm& form, std::span<const Tensor> inputs,
                                              const AttentionBlocks& blocks = {});

/// The programs for attention, or its gradients, without masks, lengths and places: those hide keys by ops around the program. That of attention_blocks is the first.
std::vector<TileWay> attention_ways(const AttentionForm& form, bool backward, const InTiles::Operands& operands,
                                    const tile::TilePreference& tiles);
/// The program of the gradients.
Ref<const Op> attention_tiles_gradients_op(const AttentionForm& form, const AttentionBlocks& blocks = {});

}  // namespace tegula::ops
