// Decides which loads loops fetch ahead: only memory that the loop does not write, at addresses that follow from the loop's counter.

#include <algorithm>

#include "tegula/simt/decide/parts.h"
#include "tegula/tile/access_hints.h"

namespace tegula::gpu {

using tile::Id;
using tile::Word;

namespace {

constexpr std::size_t kRingBytes = 48 << 10;  // so that several blocks of a multiprocessor have one
constexpr std::size_t kLongestRingBytes = 96 << 10, kBesideRing = 4 << 10;  // for what warps exchange
constexpr int kMostStages = 4;
// On its way while an iteration of a loop that writes, too, computes: more or less and the memory of an H200 is slower (gradients of a layer
// norm, written by hand, over rows of 1024, with 24, 32, 48 and 64 KiB on every multiprocessor: 0.86, 0.94, 0.95 and 0.88 of the copy bandwidth).
constexpr std::size_t kBytesAhead = 48 << 10;

/// Words without effect that are cheap to compute again for a later iteration.
bool is_address_word(Word word) {
  return tile::is_elementwise(word) || word == Word::Broadcast || word == Word::ExpandDims || word == Word::Reshape ||
         word == Word::Arange || word == Word::Constant;
}

/// Returns true if the value can be computed for a later iteration: from the counter and from what the loop does not change.
bool follows_counter(const Values& v, const tile::Region& body, Id id) {
  const tile::Instruction& self = v.at(id);
  if (id == body.parameters[0]) return true;
  if (std::find(body.parameters.begin(), body.parameters.end(), id) != body.parameters.end()) return false;
  if (std::find(body.body.begin(), body.body.end(), id) == body.body.end())
    return self.word != Word::Result || v.analysis().resolve(id) == id;
  if (!is_address_word(self.word)) return false;
  return std::all_of(self.operands.begin(), self.operands.end(), [&](Id operand) { return follows_counter(v, body, operand); });
}

bool uses_counter(const Values& v, const tile::Region& body, Id id) {
  if (id == body.parameters[0]) return true;
  if (std::find(body.body.begin(), body.body.end(), id) == body.body.end()) return false;
  return std::any_of(v.at(id).operands.begin(), v.at(id).operands.end(), [&](Id operand) { return uses_counter(v, body, operand); });
}

/// The bytes a thread holds of the loaded tile as it lies in memory, when it can be fetched ahead; else 0.
std::size_t fetched_bytes(const Values& v, const tile::Region& body, Id id) {
  const Analysis& a = v.analysis();
  const tile::Instruction& self = v.at(id);
  if (self.word != Word::Load || self.operands.size() > 2) return 0;
  const Id pointer = self.operands[0], mask = self.operands.size() > 1 ? self.operands[1] : -1;
  const Spread own = v.spread(id);
  if (own != Spread::Full && own != Spread::Column && own != Spread::Row) return 0;
  if (!can_fetch_ahead(v, body, id)) return 0;
  const auto access = own == Spread::Row ? std::optional(VectorAccess{}) : v.vector_access(pointer, mask, own);
  const auto size = size_of(a.type(pointer).dtype);
  if (!access || static_cast<std::size_t>(access->wide) * size < 4) return 0;
  return static_cast<std::size_t>(v.grid().held(self.type.shape)) * size;
}

}  // namespace

bool can_fetch_ahead(const Values& v, const tile::Region& body, Id id) {
  const Analysis& a = v.analysis();
  const tile::Instruction& self = v.at(id);
  if (self.word != Word::Load || tile::AccessHints::of(self).is_volatile) return false;
  const Id pointer = self.operands[0], mask = self.operands.size() > 1 ? self.operands[1] : -1;
  const Form form = a.affine(pointer);
  if (form.root < 0 || form.rest >= 0 || !follows_counter(v, body, pointer) || (mask >= 0 && !follows_counter(v, body, mask))) return false;
  if (mask >= 0) {
    for (const Condition& condition : a.box(mask).conditions)
      if (condition.kind == Condition::Kind::Tile) return false;
  }
  if (!uses_counter(v, body, pointer)) return false;
  const Id root = a.root_of(pointer);
  const auto writes = [&](auto&& again, const tile::Region& region) -> bool {
    return std::any_of(region.body.begin(), region.body.end(), [&](Id inner) {
      const tile::Instruction& word = v.at(inner);
      if ((word.word == Word::Store || word.word == Word::Atomic) &&
          (a.root_of(word.operands[0]) == root || a.root_of(word.operands[0]) < 0))
        return true;
      return std::any_of(word.regions.begin(), word.regions.end(), [&](const tile::Region& r) { return again(again, r); });
    });
  };
  return root >= 0 && !writes(writes, body);
}

std::vector<Id> addresses_of(const Values& v, const tile::Region& body) {
  std::vector<Id> addresses;
  for (const Id id : body.body) {
    const tile::Instruction& self = v.at(id);
    if (self.type.shape.empty() && self.word != Word::Constant && tile::has_result(self.word) && is_address_word(self.word) &&
        follows_counter(v, body, id) && !v.renames(id))
      addresses.push_back(id);
  }
  return addresses;
}

/// Decides what the loop fetches ahead, and in how many stages.
RingPlan plan_ring(const Values& v, const tile::Region& body, std::size_t shared_bytes) {
  const std::size_t longest = std::min(kLongestRingBytes, shared_bytes > kBesideRing ? shared_bytes - kBesideRing : 0);
  RingPlan plan;
  std::map<Id, std::size_t> bytes;  // of an iteration, by load
  for (const bool rows : {false, true}) {
    if (rows && bytes.empty()) return plan;  // a loop over nothing but numbers is no streaming one
    for (const Id id : body.body) {
      const std::size_t own = fetched_bytes(v, body, id) * static_cast<std::size_t>(v.grid().threads());
      if (own == 0 || (v.spread(id) == Spread::Row) != rows) continue;
      bytes[id] = own;
      plan.places[id] = plan.stage_bytes;
      plan.stage_bytes += own;
    }
  }
  plan.waits_first = std::ranges::any_of(body.body, [&](Id id) { return v.at(id).word == Word::Store; });
  if (plan.waits_first) {
    plan.ahead = std::clamp(static_cast<int>(kBytesAhead / plan.stage_bytes), 1, kMostStages);
    std::size_t under_way = plan.stage_bytes * static_cast<std::size_t>(plan.ahead);
    const bool fits = static_cast<std::size_t>(plan.ahead + 2) * plan.stage_bytes <= longest;
    for (const auto& [id, own] : bytes) {  // some loads one iteration more
      if (!fits || under_way + own > kBytesAhead || plan.further.size() + 1 == bytes.size()) continue;
      plan.further.insert(id);
      under_way += own;
    }
  } else {
    plan.ahead = std::clamp(static_cast<int>(kRingBytes / plan.stage_bytes), 2, kMostStages) - 1;
  }
  for (const auto& [id, own] : bytes)
    if (!plan.further.contains(id)) plan.nearer.insert(id);
  plan.stages = plan.ahead + (plan.further.empty() ? 1 : 2);
  if (static_cast<std::size_t>(plan.stages) * plan.stage_bytes > longest) return {};
  plan.addresses = addresses_of(v, body);
  plan.layout = std::to_string(plan.stage_bytes);
  for (const auto& [id, place] : plan.places)
    plan.layout += " " + std::to_string(place) + "/" + std::to_string(size_of(v.analysis().type(v.at(id).operands[0]).dtype));
  return plan;
}

}  // namespace tegula::gpu
