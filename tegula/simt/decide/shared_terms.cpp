// Products of which the blocks of a cluster have parts of the sums, or share the terms.

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

constexpr unsigned kMostBlocks = 8;  // that every card with clusters takes
constexpr std::int64_t kLeastColumns = 8;  // of a part that a thread has two of
constexpr std::int64_t kLeastSide = 64;  // of a part: what four warps multiply together, and columns that lie beside each other

/// Returns true if nothing but the sum of the loop comes of it, which begins with zeros, each block may do what else there is, and what stands behind the loop is done
/// by threads for themselves.
bool terms_fit(const Values& values, const TensorProducts& products) {
  const Analysis& a = values.analysis();
  if (products.copies_apart || products.rings.size() != 1 || products.all.size() != 1 || a.guarded()) return false;
  const auto& [loop, ring] = *products.rings.begin();
  const Instruction& self = values.at(loop);
  const tile::Region& body = self.regions[0];
  const std::vector<Id>& whole = a.program().body.body;
  const auto here = std::ranges::find(whole, loop);
  if (!ring.boxes || here == whole.end() || body.parameters.size() != 2) return false;
  const Id sum = body.parameters[1], dot = products.all.begin()->first;
  const auto in_place = products.in_place.find(dot);
  const bool only_adds = in_place != products.in_place.end() && in_place->second == sum && tile::is_zero(a.program(), self.operands[3]);
  const std::size_t room = static_cast<std::size_t>(ring.stages) * ring.stage_bytes,
                    sums = static_cast<std::size_t>(numel(a.type(sum).shape)) * sizeof(float);
  return only_adds && sums <= room && std::ranges::all_of(body.body, [&](Id id) { return may_repeat(values.at(id)); }) &&
         std::all_of(whole.begin(), here, [&](Id id) { return may_repeat(values.at(id)); }) &&
         std::all_of(here + 1, whole.end(), [&](Id id) {
           const Instruction& one = values.at(id);
           return one.regions.empty() && is_own(one.word) && one.word != Word::Dot && (one.word != Word::Reshape || values.renames(id));
         });
}

}  // namespace

/// H200, bf16, TFLOP/s by blocks for themselves and by two that share an operand, each 128 x 256 x 64: 4096³ 659 and 526, b as (N, K) 653 and 537; 8192³ 666 and 548,
/// 650 and 564; 8192 x 4096 x 4096 637 and 533, 645 and 539. So only loops that ask for it are cut.
TileParts parts_of_sums(const tile::Program& program, const Shape& sums, int architecture) {
  constexpr int kClusters = 90;
  const Instruction* loop = nullptr;
  int dots = 0;
  for (const Instruction& self : program.instructions) {
    dots += self.word == Word::Dot;
    if (self.word == Word::For && std::ranges::any_of(self.regions[0].body, [&](Id id) { return program[id].word == Word::Dot; }))
      loop = &self;
  }
  if (architecture != kClusters || loop == nullptr || dots != 1) return {};
  const std::int64_t flags = loop->attribute >> 16;  // of RangeHints (tile/language/control.cpp)
  const bool said = (flags & 16) != 0, wanted = (flags & 4) != 0;
  std::int64_t blocks = std::bit_floor(static_cast<std::uint64_t>(loop->attribute >> 32 & 255));
  if (blocks > 1 && !(said && wanted)) {
    blocks = std::min<std::int64_t>({blocks, kMostBlocks, sums[1] / kLeastColumns});
    return blocks > 1 ? TileParts{.columns = static_cast<int>(blocks), .by_terms = true} : TileParts();
  }
  const bool rows = sums[0] >= sums[1];
  for (blocks = std::min<std::int64_t>(blocks, kMostBlocks); blocks > 1; blocks /= 2)
    if (sums[rows ? 0 : 1] / blocks >= kLeastSide)
      return rows ? TileParts{.rows = static_cast<int>(blocks)} : TileParts{.columns = static_cast<int>(blocks)};
  return {};
}

bool parts_fit(const Values& values, const TensorProducts& products) {
  constexpr int kRowsOfSwizzle = 8;
  const ThreadGrid& grid = values.grid();
  if (!products.fit_groups || !grid.widths.empty()) return false;
  if (grid.parts_of_terms ? !terms_fit(values, products) : !products.stays || products.rings.size() != 1 || products.copied.size() != 2)
    return false;
  for (const auto& [load, copied] : products.copied) {
    if (grid.parts_of_terms) break;
    if (!copied.box || copied.box->map.inside || values.at(load).type.shape.rank() != 2) return false;
    if (copied.shares > 1 && !copied.shares_strips() && copied.tile.rows % (kRowsOfSwizzle * copied.shares) != 0) return false;
  }
  const auto& all = values.analysis().program().instructions;
  for (Id id = 0; id < static_cast<Id>(all.size()); ++id)
    if (values.at(id).word == Word::Store && values.spread(values.at(id).operands[0]) != Spread::Full) return false;
  return true;
}

}  // namespace tegula::gpu
