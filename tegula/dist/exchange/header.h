#pragma once
// A collective that a rank is about to begin, as it tells another rank.

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/shape.h"
#include "tegula/dist/exchange/exchange.h"

namespace tegula::dist {

/// Sent to the next rank in the group's ring for collectives; to the receiver for a send.
struct Header {
  std::uint32_t magic = 0x74674c32;
  Kind kind{};
  DType dtype{};
  Reduction reduction{};
  std::uint8_t rank_of_shape = 0;
  std::int32_t root = 0;
  std::int32_t sender = 0;  // in the run
  std::uint64_t members = 0;  // hash_of the group's ranks
  std::uint64_t trace = 0;  // as in Collective
  std::uint32_t number = 0;
  std::int64_t sizes[kMaxRank] = {};
  char place[128] = {};  // the user's line
};
static_assert(std::is_trivially_copyable_v<Header>);

std::uint64_t hash_of(const std::vector<int>& ranks);
/// The header for rank `me` among `ranks`.
Header header_of(const std::vector<int>& ranks, int me, const Collective& what, const Line& where);

/// True if both do the same, or one receives what the other sends.
bool agree(const Header& mine, const Header& theirs);
/// "all_reduce (sum) of f32 (3, 4) on rank 0 at a.cpp:12 and …", the lower rank first.
std::string difference(const Header& mine, const Header& theirs);
/// The error of two that do not agree.
Error disagreement(const Header& mine, const Header& theirs, const Line& where);

}  // namespace tegula::dist
