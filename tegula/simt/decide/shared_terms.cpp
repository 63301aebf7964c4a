// Products whose terms the blocks of a cluster share.

#include <algorithm>
#include <bit>

#include "tegula/simt/decide/products.h"
#include "tegula/simt/decide/values.h"
#include "tegula/tile/passes/add_into_products.h"

namespace tegula::gpu {

using tile::Id;
using tile::Instruction;
using tile::Word;

namespace {

/// Returns true if each block of a cluster may do the instruction.
bool may_repeat(const Instruction& self) {
  if (!self.regions.empty()) return false;
  switch (self.word) {
    case Word::Store:
    case Word::Atomic:
    case Word::Assert:
    case Word::Print:
    case Word::Barrier: return false;
    default: return true;
  }
}

}  // namespace

int blocks_of_terms(const Values& values, const TensorProducts& products) {
  constexpr unsigned kMostBlocks = 8;  // that every card with clusters takes
  const Analysis& a = values.analysis();
  if (!products.fit_groups || products.copies_apart || products.rings.size() != 1 || products.all.size() != 1 || a.guarded()) return 1;
  const auto& [loop, ring] = *products.rings.begin();
  const Instruction& self = values.at(loop);
  const auto wanted = static_cast<unsigned>(self.attribute >> 32 & 255);
  const tile::Region& body = self.regions[0];
  const std::vector<Id>& whole = a.program().body.body;
  const auto here = std::ranges::find(whole, loop);
  if (wanted < 2 || !ring.boxes || here == whole.end() || body.parameters.size() != 2) return 1;
  const Id sum = body.parameters[1], dot = products.all.begin()->first;
  const auto in_place = products.in_place.find(dot);
  const bool only_adds = in_place != products.in_place.end() && in_place->second == sum && tile::is_zero(a.program(), self.operands[3]);
  if (!only_adds || !std::ranges::all_of(body.body, [&](Id id) { return may_repeat(values.at(id)); })) return 1;
  if (!std::all_of(whole.begin(), here, [&](Id id) { return may_repeat(values.at(id)); })) return 1;
  const std::size_t room = static_cast<std::size_t>(ring.stages) * ring.stage_bytes,
                    sums = static_cast<std::size_t>(numel(a.type(sum).shape)) * sizeof(float);
  unsigned blocks = std::min(std::bit_floor(wanted), kMostBlocks);
  while (blocks > 1 && (blocks - 1) * sums > room) blocks /= 2;
  return static_cast<int>(blocks);
}

}  // namespace tegula::gpu
