#pragma once
// Frequent questions about a program's values, once the elements of each thread are known.

#include <cstdint>
#include <optional>
#include <vector>

#include "tegula/simt/analysis.h"
#include "tegula/simt/decide/layout.h"

namespace tegula::gpu {

/// An access to a tile in memory, a vector of neighbours at a time.
struct VectorAccess {
  int wide = 1;                   // elements side by side in one access
  std::vector<Condition> on;      // hold for the whole vector or not at all
  std::vector<Term> limits;       // columns from there on are not there
  bool whole = true;              // the limits are multiples of `wide`
};

class Values {
 public:
  using Id = tile::Id;
  Values(const Analysis& analysis, const ThreadGrid& grid);

  const Analysis& analysis() const { return a_; }
  const ThreadGrid& grid() const { return grid_; }
  const tile::Instruction& at(Id id) const { return a_[id]; }
  /// True if a tile is one number per row, or one for all.
  bool is_of_row(const Shape& shape) const {
    const Spread spread = grid_.spread_of(shape);
    return spread == Spread::Uniform || spread == Spread::Row;
  }
  Spread spread(Id id) const { return spreads_[static_cast<std::size_t>(id)]; }
  /// Is not computed where it stands, but written into its users: forms, constants, tiles that only repeat or rename another.
  bool is_inline(Id id) const;
  bool renames(Id id) const;
  /// The values that an element names: itself, or what its form or its other name is made of.
  std::vector<Id> sources_of(Id id) const;
  template <class F>
  void for_each_source(Id id, F&& f) const;
  /// True if a tile is the same along the innermost axis of loops over `loops`: one value per row, or one for all.
  bool repeated(Id id, Spread loops) const;
  /// True if the elements are the numbers of the columns.
  bool counts_columns(Id id, Spread loops) const;
  /// True if several threads hold the same elements of such a tile.
  bool held_by_many(Spread spread) const;
  /// Elements of a vector that one access reaches.
  int widest(Id pointer) const;
  std::optional<VectorAccess> vector_access(Id pointer, Id mask, Spread spread) const;
  bool reads_unwritten(Id pointer) const;
  /// The threads that a reduction combines; for tiles that are not flat.
  enum class Crossing : std::uint8_t { None, Columns, Rows };
  Crossing crossing(Id reduce) const;
  /// Elements of a sum that a thread holds.
  std::int64_t held_across(Spread spread) const;

 protected:
  const Analysis& a_;
  const ThreadGrid& grid_;

 private:
  std::vector<Spread> spreads_;
};

template <class F>
void Values::for_each_source(Id id, F&& f) const {
  id = a_.resolve(id);
  const tile::Instruction& self = at(id);
  if (self.word == tile::Word::Constant || self.word == tile::Word::Parameter) return;
  if (self.type.shape.empty()) return f(id);
  const Form& form = a_.form(id);
  if (form.kind == Form::Kind::Affine) {
    if (form.rest >= 0) for_each_source(form.rest, f);
  } else if (form.kind == Form::Kind::Box) {
    for (const Condition& condition : form.conditions)
      if (condition.kind == Condition::Kind::Tile) for_each_source(condition.value, f);
  } else if (renames(id)) {
    for_each_source(self.operands[0], f);
  } else {
    f(id);
  }
}

}  // namespace tegula::gpu
