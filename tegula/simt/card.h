#pragma once
// What kernels are cut for.

#include <cstdint>

#include "tegula/tile/preference.h"

namespace tegula::gpu {

/// A card as the code generator and the handwritten kernels see it; the defaults are an H200's, on which they were measured.
struct Card {
  int architecture = 90;      // 90 for compute capability 9.0
  int multiprocessors = 132;
};

constexpr int kMostBlocksOfRow = 8;  // what every card with clusters can run as one
// Of a row in shared memory: a block's, so that two blocks have room; a block's share where several have the row.
constexpr std::int64_t kStagedBytesOfBlock = 112 * 1024, kStagedBytesOfShare = 32 * 1024;

/// How many blocks should share a long row; those of smaller cards have too little shared memory for it.
int blocks_of_row(int architecture);
/// How programs are cut for a card: so many instances keep all of its multiprocessors busy, each with few registers for its tile.
tile::TilePreference tiles_for(const Card& card);

}  // namespace tegula::gpu
