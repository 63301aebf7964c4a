// Whether a warp of its own copies tiles for the others, which then meet only where they need each other, and whose blocks stay for several instances.

#include <algorithm>

#include "tegula/simt/decide/parts.h"

namespace tegula::gpu {

using tile::Id;
using tile::Instruction;
using tile::Word;

namespace {

// H200, bf16, TFLOP/s with and without: 4096³, b as (N, K), 620 and 594; b as (K, N), 8192³ and short sums (8192 x 3072 x 768: 518 without) are faster without.
constexpr bool kUnlessSaid = false;

/// Words that a thread does by itself, or that nothing is lowered to where products take their operands from shared memory.
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

class Roles {
 public:
  Roles(const Values& values, const TensorProducts& products) : v_(values), a_(values.analysis()), p_(products) {}

  bool fit() {
    if (!v_.grid().groups || !p_.fit_groups || a_.guarded() || p_.rings.size() != 1 || p_.all.size() != 1) return false;
    const auto& [loop, ring] = *p_.rings.begin();
    const std::vector<Id>& whole = a_.program().body.body;
    // What threads write, or copy where it stands, they would wait for.
    const auto is_fetched = [&](const Operand& one) { return one.copied && p_.copied.at(one.value).loop == loop; };
    const Product& product = p_.all.begin()->second;
    if (!is_fetched(product.left) || !is_fetched(product.right)) return false;
    if (!ring.boxes || std::ranges::find(whole, loop) == whole.end() || v_.at(loop).regions[0].body.empty()) return false;
    return std::ranges::all_of(v_.at(loop).operands.begin(), v_.at(loop).operands.begin() + 3, [&](Id one) { return is_scalar(one); }) &&
           copies_follow(loop, ring) && are_own(a_.program().body, loop);
  }

 private:
  /// Of parameters, the instance, the counter: nothing that is read.
  bool is_scalar(Id id) const {
    id = a_.resolve(id);
    const Instruction& self = v_.at(id);
    if (!self.type.shape.empty() || self.type.pointer) return false;
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
  bool copies_follow(Id loop, const TileRingPlan& ring) {
    counter_ = v_.at(loop).regions[0].parameters[0];
    return std::ranges::all_of(ring.addresses, [&](Id one) { return is_scalar(one); }) && std::ranges::all_of(ring.loads, [&](Id load) {
             const CopiedTile& copied = p_.copied.at(load);
             return is_scalar(copied.box->x) && is_scalar(copied.box->y) &&
                    std::ranges::all_of(copied.box->planes, [&](const Term& one) { return is_scalar(one); });
           });
  }
  bool are_own(const tile::Region& region, Id loop) const {
    return std::ranges::all_of(region.body, [&](Id id) {
      const Instruction& self = v_.at(id);
      if (p_.absorbed.contains(id)) return true;
      if (!is_own(self.word) || (self.word == Word::For && id != loop)) return false;
      if (self.word == Word::Store && writes_copied(self)) return false;
      if (self.word == Word::Reshape && !v_.renames(id)) return false;  // by way of shared memory
      return std::ranges::all_of(self.regions, [&](const tile::Region& inner) { return are_own(inner, loop); });
    });
  }
  /// Whether it may write what is copied: of another instance, which may have begun already.
  bool writes_copied(const Instruction& store) const {
    const Id root = a_.root_of(store.operands[0]);
    return root < 0 || std::ranges::any_of(p_.copied, [&](const auto& one) { return a_.root_of(v_.at(one.first).operands[0]) == root; });
  }

  const Values& v_;
  const Analysis& a_;
  const TensorProducts& p_;
  Id counter_ = -1;
};

}  // namespace

bool copies_apart(const Values& values, const TensorProducts& products) {
  if (products.rings.empty()) return false;
  const std::int64_t flags = values.at(products.rings.begin()->first).attribute >> 16;  // of RangeHints (tile/language/control.cpp)
  const bool said = (flags & 16) != 0, wanted = (flags & 4) != 0;
  return (said ? wanted : kUnlessSaid) && Roles(values, products).fit();
}

}  // namespace tegula::gpu
