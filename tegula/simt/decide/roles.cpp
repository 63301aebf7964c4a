// Decides whether a warp of its own copies tiles for the others, which then meet only where they need each other. If the loop copies all operands, blocks stay
// for several instances; groups of four warps take turns at several products.

#include <algorithm>

#include "tegula/simt/decide/parts.h"
#include "tegula/simt/kernel/kernel.h"
#include "tegula/tile/access_hints.h"

namespace tegula::gpu {

using tile::Id;
using tile::Instruction;
using tile::Word;

namespace {

// H200, bf16, TFLOP/s with and without: 4096³, b as (N, K), 620 and 594; b as (K, N), 8192³ and short sums (8192 x 3072 x 768: 518 without) are faster without.
constexpr bool kUnlessSaid = false;

/// H200, attention of causal scores (B 8, H 16, T 4,096, D 128), 128 queries a block, bf16, TFLOP/s: in turn 516, each group as it comes 480.
constexpr bool kTurns = true;

/// H200, the same, launches by themselves, the text edited by hand: as printed in turn 496, and where a second product goes on beside the next iteration's first one,
/// in blocks of 384 threads, 554 (559 where all products of an iteration begin together, 576 where the first iteration stands apart).
constexpr bool kBehind = true;

}  // namespace

bool is_own(Word word) {
  switch (word) {
    case Word::Constant:
    case Word::Parameter:
    case Word::ProgramId:
    case Word::NumPrograms:
    case Word::Arange:
    case Word::Broadcast:
    case Word::ExpandDims:
    case Word::Reshape:
    case Word::Load:
    case Word::Store:
    case Word::Dot:
    case Word::For:
    case Word::Result: return true;
    default: return tile::is_elementwise(word);
  }
}

namespace {

class Roles {
 public:
  Roles(const Values& values, const TensorProducts& products) : v_(values), a_(values.analysis()), p_(products) {}

  bool fit() {
    if (!v_.grid().groups || !p_.fit_groups || a_.guarded() || p_.rings.size() != 1) return false;
    const auto& [loop, ring] = *p_.rings.begin();
    const std::vector<Id>& whole = a_.program().body.body;
    if (!ring.boxes || std::ranges::find(whole, loop) == whole.end() || v_.at(loop).regions[0].body.empty()) return false;
    loop_ = loop;
    stays_ = p_.all.size() == 1;
    for (const auto& [id, product] : p_.all) {
      for (const Operand* const one : {&product.left, &product.right}) {
        if (!is_there(*one)) return false;
        stays_ = stays_ && is_fetched(*one);
      }
    }
    return std::ranges::all_of(v_.at(loop).operands.begin(), v_.at(loop).operands.begin() + 3, [&](Id one) { return is_scalar(one); }) &&
           copies_follow(ring) && are_own(a_.program().body);
  }
  /// Returns true if blocks stay for several instances, so that the next one's tiles come while results are stored: only the loop copies.
  bool stay() const { return stays_; }
  /// Returns true if groups multiply in turn, so that one computes what lies between the products while another one multiplies.
  bool take_turns() const {
    constexpr int kGroup = 32;  // rows of threads
    const std::vector<Id>& body = v_.at(loop_).regions[0].body;
    const auto products = std::ranges::count_if(body, [&](Id id) { return p_.all.contains(id); });
    return kTurns && products >= 2 && products == std::ssize(p_.all) && v_.grid().row_threads / kGroup >= 2;
  }

 private:
  bool is_fetched(const Operand& one) const { return one.copied && p_.copied.at(one.value).loop == loop_; }
  /// Returns true if threads need not wait for the operand, as they would for a tile that they write, or copy where it stands in the loop.
  bool is_there(const Operand& one) const {
    const std::vector<Id>& whole = a_.program().body.body;
    const bool ahead = one.copied && p_.copied.at(one.value).loop < 0 && std::ranges::find(whole, one.value) != whole.end();
    return is_fetched(one) || one.in_registers || ahead;
  }
  /// Returns true if the value is computed from parameters, the instance, the counter, and memory that no instance writes.
  bool is_scalar(Id id) const {
    id = a_.resolve(id);
    const Instruction& self = v_.at(id);
    if (self.word == Word::Load && self.type.shape.empty()) return !stays_ && is_constant(self);
    if (!self.type.shape.empty()) return false;
    if (self.type.pointer) return !stays_ && is_place(id);
    if (id == counter_ || self.word == Word::Constant || self.word == Word::Parameter || self.word == Word::ProgramId ||
        self.word == Word::NumPrograms)
      return true;
    return tile::is_elementwise(self.word) && std::ranges::all_of(self.operands, [&](Id one) { return is_scalar(one); });
  }
  bool is_scalar(const Term& term) const {
    if (term.kind == Term::Kind::Number) return true;
    if (term.kind == Term::Kind::Scalar) return is_scalar(term.id);
    return std::ranges::all_of(*term.operands, [&](const Term& one) { return is_scalar(one); });
  }
  /// A number that lies where nobody writes, at a place that is known in the same way.
  bool is_constant(const Instruction& load) const {
    return load.operands.size() == 1 && !tile::AccessHints::of(load).is_volatile && is_place(load.operands[0]);
  }
  bool is_place(Id id) const {
    id = a_.resolve(id);
    const Instruction& self = v_.at(id);
    if (self.word == Word::Parameter) return !a_.program().parameters[static_cast<std::size_t>(self.attribute)].writable;
    return tile::is_elementwise(self.word) &&
           std::ranges::all_of(self.operands, [&](Id one) { return v_.at(a_.resolve(one)).type.pointer ? is_place(one) : is_scalar(one); });
  }
  bool copies_follow(const TileRingPlan& ring) {
    counter_ = v_.at(loop_).regions[0].parameters[0];
    return std::ranges::all_of(ring.addresses, [&](Id one) { return is_scalar(one); }) && std::ranges::all_of(ring.loads, [&](Id load) {
             const CopiedTile& copied = p_.copied.at(load);
             return is_scalar(copied.box->x) && is_scalar(copied.box->y) &&
                    std::ranges::all_of(copied.box->planes, [&](const Term& one) { return is_scalar(one); });
           });
  }
  bool are_own(const tile::Region& region) const {
    return std::ranges::all_of(region.body, [&](Id id) {
      const Instruction& self = v_.at(id);
      if (p_.absorbed.contains(id)) return true;
      const bool of_warp = !stays_ && (self.word == Word::If || (self.word == Word::Reduce && is_within_rows(self)));
      if ((!is_own(self.word) && !of_warp) || (self.word == Word::For && id != loop_)) return false;
      if (self.word == Word::Store && writes_copied(self)) return false;
      if (self.word == Word::Reshape && !v_.renames(id)) return false;  // by way of shared memory
      return std::ranges::all_of(self.regions, [&](const tile::Region& inner) { return are_own(inner); });
    });
  }
  /// A warp has whole rows.
  bool is_within_rows(const Instruction& reduce) const {
    const Id from = reduce.operands[0];
    return reduce.operands.size() == 1 && v_.spread(from) == Spread::Full && a_.type(from).shape.rank() == 2 && reduce.attribute == 1;
  }
  /// Returns true if the store may write what is copied: for another instance, which may have begun already.
  bool writes_copied(const Instruction& store) const {
    const Id root = a_.root_of(store.operands[0]);
    return root < 0 || std::ranges::any_of(p_.copied, [&](const auto& one) { return a_.root_of(v_.at(one.first).operands[0]) == root; });
  }

  const Values& v_;
  const Analysis& a_;
  const TensorProducts& p_;
  Id loop_ = -1, counter_ = -1;
  bool stays_ = false;
};

/// The last of two products of a loop, if only the next iteration takes its sums: that one begins it behind its own first product ("FlashAttention-3", Shah et al.,
/// 2024, section 3.2), so that it goes on while what follows from that one is computed. Nobody but it may read its tile, which stays an iteration longer, nor the
/// sums before they are added to, but for what computes these element by element.
class Behind {
 public:
  Behind(const Values& values, TensorProducts& products) : v_(values), a_(values.analysis()), p_(products) {}

  void find(Id loop) {
    const tile::Region& body = v_.at(loop).regions[0];
    std::vector<Id> products;
    for (const Id one : body.body)
      if (p_.all.contains(one)) products.push_back(one);
    if (products.size() != 2 || !p_.rings.at(loop).apart) return;
    const Id first = products.front(), last = products.back();
    Product& product = p_.all.at(last);
    if (!product.left.in_registers || !product.right.copied || imprecise_terms(v_.at(first)) > 0 || imprecise_terms(v_.at(last)) > 0 ||
        !p_.in_place.contains(last))
      return;
    const Id tile = product.right.value;
    const Product& other = p_.all.at(first);
    if (p_.copied.at(tile).loop != loop || other.left.value == tile || other.right.value == tile || a_.users(last).size() != 1) return;
    const auto result = std::ranges::find_if(body.results, [&](Id one) { return a_.resolve(one) == last; });
    if (result == body.results.end() || !have_registers(first, last)) return;
    const Id sums = body.parameters[static_cast<std::size_t>(result - body.results.begin()) + 1];
    const Id added = a_.resolve(v_.at(last).operands[2]);
    if (!is_tile(sums) || a_.type(sums).shape != a_.type(last).shape) return;
    if (added != sums) {
      const auto at = [&](Id one) { return std::ranges::find(body.body, one); };
      const bool follows = at(added) != body.body.end() && at(added) > at(first);
      if (!follows || !tile::is_elementwise(v_.at(added).word) || !is_tile(added) || a_.users(added).size() != 1) return;
      std::vector<Id> users;
      find_users(body, sums, users);
      if (users != std::vector{added}) return;
      p_.in_place[added] = p_.in_place[last] = sums;
    }
    product.behind = p_.behind = true, product.ahead = first;
  }

 private:
  /// For sums of both products and the operand of the last one, which is two numbers a register; and as much again as a group of 64 rows needs for addresses.
  bool have_registers(Id first, Id last) const {
    constexpr std::int64_t kOther = 56, kGroup = 128, kRows = 64;
    const auto columns = [&](Id id) { return a_.type(id).shape[1]; };
    const int team = v_.grid().threads();
    const std::int64_t blocks = a_.type(last).shape[0] * kGroup / (kRows * team);
    return team % kGroup == 0 &&
           blocks * (columns(first) * 3 / 4 + columns(last) / 2) + kOther <= simt::MoveRegisters::beside(team, static_cast<int>(kGroup));
  }
  bool is_tile(Id id) const { return v_.spread(id) == Spread::Full && a_.form(id).kind == Form::Kind::None && !v_.renames(id); }
  /// Adds the users of the carried value within the loop; others take its value at the end.
  void find_users(const tile::Region& region, Id carried, std::vector<Id>& users) const {
    const auto is = [&](Id one) { return a_.resolve(one) == carried; };
    for (const Id id : region.body) {
      if (std::ranges::any_of(v_.at(id).operands, is)) users.push_back(id);
      for (const tile::Region& inner : v_.at(id).regions) find_users(inner, carried, users);
    }
    if (std::ranges::any_of(region.results, is)) users.push_back(-1);
  }

  const Values& v_;
  const Analysis& a_;
  TensorProducts& p_;
};

}  // namespace

void decide_roles(const Values& values, TensorProducts& products) {
  if (products.rings.empty()) return;
  const std::int64_t flags = values.at(products.rings.begin()->first).attribute >> 16;  // of RangeHints (tile/language/control.cpp)
  const bool said = (flags & 16) != 0, wanted = (flags & 4) != 0;
  Roles roles(values, products);
  products.copies_apart = (said ? wanted : kUnlessSaid) && roles.fit();
  products.stays = products.copies_apart && roles.stay();
  products.turns = products.copies_apart && roles.take_turns();
  if (kBehind && products.turns) Behind(values, products).find(products.rings.begin()->first);
}

}  // namespace tegula::gpu
