#include "tegula/simt/card.h"

namespace tegula::gpu {

namespace {

// The numbers measured on an H200 (docs/benchmarks.md and its pages). Other cards use the same, except for those that count multiprocessors or
// blocks of a cluster. The fields of tile/preference.h explain each.

constexpr std::int64_t kElements = 4096;  // 4-byte elements; elementwise work at copy speed
constexpr std::int64_t kElementsOfLittle = 2048;  // below sm_80, where a block has 64 KiB of shared memory
constexpr std::int64_t kSmallElements = 512;  // if larger tiles would leave multiprocessors idle
constexpr std::int64_t kLongestRow = 32768;  // elements that one block holds in registers or shared memory
constexpr int kBlocksOfRow = 8;  // of a cluster, from sm_90 on
constexpr std::int64_t kInstances = 4;  // for each multiprocessor: what a split reduction is cut for
constexpr std::int64_t kLongestSort = 4096;  // elements: keys and places of a line in shared memory

// Rows long enough to be shared by a cluster, several of them beside each other where weights meet every row (layer norm of halves, 32768 columns).
constexpr tile::LongRowPreference kLongRows{.rows = 2,
                                            .bytes = kStagedBytesOfBlock,
                                            .most_bytes = 2 * kMostBlocksOfRow * kStagedBytesOfShare,
                                            .bytes_of_fewer = kStagedBytesOfBlock / 2,
                                            .more_rows = 4,
                                            .bytes_of_more = kMostBlocksOfRow * kStagedBytesOfShare / 2};

constexpr tile::StripPreference kStrips{.columns = 64,  // sums over rows: lines of 256 bytes
                                        .least_columns = 16,  // the same where there are few columns
                                        .repeated_elements = 8192,  // bias and scale are read once for so much
                                        .accumulated_row = 8192,  // gradients of norms: a thread's sums still lie in registers
                                        .accumulators = 132,  // one block to a multiprocessor; tiles_for has the card's own number
                                        .in_turn = true,  // neighbours read neighbouring tiles
                                        .short_row = 2048,  // gradients of norms over 1024 columns
                                        .walked_bytes = 36 * 1024,  // on their way to a multiprocessor (decide/rings.cpp)
                                        .paced_bytes = 12 * 1024};  // four warps keep pace with memory

}  // namespace

int blocks_of_row(int architecture) { return architecture >= 90 && architecture < 120 ? 2 * kMostBlocksOfRow : 1; }

tile::TilePreference tiles_for(const Card& card) {
  tile::StripPreference strips = kStrips;
  strips.accumulators = card.multiprocessors;
  return {.elements = card.architecture >= 80 ? kElements : kElementsOfLittle,
          .longest_row = kLongestRow * (card.architecture >= 90 ? kBlocksOfRow : 1),
          .instances = kInstances * card.multiprocessors,
          .longest_sort = kLongestSort,
          .small_elements = kSmallElements,
          .strips = strips,
          .long_rows = blocks_of_row(card.architecture) > 1 ? kLongRows : tile::LongRowPreference(),
          .warp_groups = card.architecture >= 90 && card.architecture < 100,
          .kernels_take_long = true};
}

}  // namespace tegula::gpu
