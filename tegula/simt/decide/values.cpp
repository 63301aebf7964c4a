#include "tegula/simt/decide/values.h"

#include <algorithm>
#include <bit>

namespace tegula::gpu {

using tile::Word;

Values::Values(const Analysis& analysis, const ThreadGrid& grid) : a_(analysis), grid_(grid) {
  spreads_.reserve(a_.program().instructions.size());
  for (const tile::Instruction& self : a_.program().instructions) spreads_.push_back(grid_.spread_of(self.type.shape));
}

bool Values::renames(Id id) const {
  const tile::Instruction& self = at(id);
  // A value that is only stored is rounded by the store.
  if (self.word == Word::Narrow && !self.type.shape.empty()) {
    return std::all_of(a_.users(id).begin(), a_.users(id).end(), [&](Id user) {
      return user >= 0 && at(user).word == Word::Store && static_cast<std::int64_t>(a_.type(at(user).operands[0]).dtype) == self.attribute;
    });
  }
  if (self.word < Word::Broadcast || self.word > Word::Transpose) return false;
  const Id from = self.operands[0];
  const Spread source = spread(from), target = spread(id);
  if (source == Spread::Uniform) return true;
  if (self.word == Word::Transpose) return false;
  if (self.word == Word::Broadcast) {
    if (target == Spread::Flat || source == Spread::Flat) return source == target && numel(a_.type(from).shape) == numel(self.type.shape);
    return source == target || target == Spread::Full;
  }
  return source == target;
}

bool Values::is_inline(Id id) const {
  const tile::Instruction& self = at(id);
  if (self.word == Word::Constant || self.word == Word::Parameter) return true;
  if (self.word == Word::Result) return true;
  return a_.form(id).kind != Form::Kind::None || renames(id);
}

bool Values::repeated(Id id, Spread loops) const {
  for (id = a_.resolve(id); !a_.type(id).shape.empty() && renames(id);) id = a_.resolve(at(id).operands[0]);
  if (a_.type(id).shape.empty()) return false;
  const Spread own = spread(id);
  return (own == Spread::Uniform && (loops == Spread::Column || loops == Spread::Full)) || (own == Spread::Row && loops == Spread::Full);
}

bool Values::counts_columns(Id id, Spread loops) const {
  const Form& form = a_.form(id);
  if (form.kind != Form::Kind::Affine || form.root >= 0 || form.rest >= 0 || !form.base.is(0)) return false;
  if (loops != Spread::Full && loops != Spread::Column) return false;
  for (std::size_t i = 0; i + 1 < form.stride.size(); ++i)
    if (!form.stride[i].is(0)) return false;
  return form.stride.back().is(1) && grid_.spread_of(a_.type(id).shape) != Spread::Row;
}

std::vector<tile::Id> Values::sources_of(Id id) const {
  std::vector<Id> all;
  for_each_source(id, [&](Id source) { all.push_back(source); });
  return all;
}

Values::Crossing Values::crossing(Id id) const {
  const tile::Instruction& self = at(id);
  const Shape& shape = a_.type(self.operands[0]).shape;
  if (shape[static_cast<int>(self.attribute)] == 1) return Crossing::None;
  if (shape.rank() == 1) return spread(self.operands[0]) == Spread::Row ? Crossing::Rows : Crossing::Columns;
  return self.attribute == 1 ? Crossing::Columns : Crossing::Rows;
}

std::int64_t Values::held_across(Spread own) const {
  return own == Spread::Uniform ? 1 : own == Spread::Row ? grid_.row_steps : std::int64_t{grid_.column_steps} * grid_.vector;
}
bool Values::held_by_many(Spread spread) const {
  switch (spread) {
    case Spread::Uniform: return true;
    case Spread::Row: return grid_.columns_across() > 1;
    case Spread::Column: return grid_.row_threads > 1;
    default: return false;
  }
}

int Values::widest(Id pointer) const { return std::min(a_.contiguous(pointer), grid_.vector); }

std::optional<VectorAccess> Values::vector_access(Id pointer, Id mask, Spread own) const {
  if ((own != Spread::Column && own != Spread::Full) || grid_.vector == 1) return {};
  VectorAccess access{.wide = widest(pointer), .on = {}, .limits = {}};
  if (access.wide == 0) return {};
  const int last = a_.type(pointer).shape.rank() - 1, twos = std::countr_zero(static_cast<unsigned>(access.wide));
  if (mask >= 0) {
    for (const Condition& one : a_.box(mask).conditions) {
      const bool tile = one.kind == Condition::Kind::Tile;
      const bool along = tile ? a_.varies_along_last_axis(one.value) : one.kind != Condition::Kind::Uniform && one.axis == last;
      if (!along) {
        access.on.push_back(one);
      } else if (one.kind == Condition::Kind::Below) {
        access.limits.push_back(one.limit);
        access.whole = access.whole && one.limit.twos >= twos;
      } else {
        return {};
      }
    }
  }
  if (!grid_.columns_fit() && !grid_.staged) access.whole = access.whole && grid_.columns % access.wide == 0;
  return access;
}

bool Values::reads_unwritten(Id pointer) const {
  const Id root = a_.root_of(pointer);
  return root >= 0 && a_.program().parameters[static_cast<std::size_t>(root)].unwritten;
}

}  // namespace tegula::gpu
