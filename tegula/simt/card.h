#pragma once
// The card that kernels are made for.

#include <cstdint>

#include "tegula/tile/preference.h"

namespace tegula::gpu {

/// A card as the code generator and the handwritten kernels see it; the defaults are an H200's, on which they were measured.
struct Card {
  int architecture = 90;      // 90 for compute capability 9.0
  int multiprocessors = 132;
};

constexpr int kMostBlocksOfRow = 8;  // every card with clusters can run this many as one
// Bytes of a row in shared memory: per block, so that two blocks have room; per block's share if several blocks have the row.
constexpr std::int64_t kStagedBytesOfBlock = 112 * 1024, kStagedBytesOfShare = 32 * 1024;

/// True if tensor cores multiply TF32 and bf16. Others round neither: f32 stays f32, and products of bf16 are faster in f32.
constexpr bool has_tf32(const Card& card) { return card.architecture >= 80; }
/// The number of blocks that should share a long row; 1 on smaller cards, which have too little shared memory for it.
int blocks_of_row(int architecture);
/// The sizes by which programs are cut for a card: enough instances to keep all of its multiprocessors busy, each with few registers for its tile.
tile::TilePreference tiles_for(const Card& card);

}  // namespace tegula::gpu
