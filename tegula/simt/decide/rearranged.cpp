// Tiles that other threads hold under their new shape: which of them go from one linear layout to another.

#include <bit>

#include "tegula/simt/decide/parts.h"
#include "tegula/simt/layouts/rows.h"

namespace tegula::gpu {

using simt::Bits;
using tile::Word;

namespace {

int bits_of(std::int64_t n) { return std::countr_zero(static_cast<std::uint64_t>(n)); }

/// A column for each bit of an element's number in `to`: the element of `from` that it is made of.
simt::Columns elements_of(Word word, const Shape& from, const Shape& to) {
  simt::Columns columns;
  const auto axis = [&](std::int64_t size, std::int64_t distance) {
    for (std::int64_t bit = 1; bit < size; bit *= 2) columns.push_back(static_cast<Bits>(bit * distance));
  };
  if (word == Word::Transpose) {
    axis(to[1], to[0]), axis(to[0], 1);
  } else if (word == Word::Broadcast) {
    for (int i = to.rank() - 1; i >= 0; --i) {
      std::int64_t distance = from[i] == 1 ? 0 : 1;
      for (int k = i + 1; k < from.rank(); ++k) distance *= from[k];
      axis(to[i], distance);
    }
  } else {
    axis(numel(to), 1);
  }
  return columns;
}

}  // namespace

std::map<tile::Id, LayoutChange> layout_changes(const Values& v) {
  std::map<tile::Id, LayoutChange> changes;
  const tile::Program& program = v.analysis().program();
  for (tile::Id id = 0; id < static_cast<tile::Id>(program.instructions.size()); ++id) {
    const tile::Instruction& self = v.at(id);
    if (self.word < Word::Broadcast || self.word > Word::Transpose || v.is_inline(id)) continue;
    const Shape &source = v.analysis().type(self.operands[0]).shape, &target = self.type.shape;
    bool powers = true;
    for (const Shape* shape : {&source, &target})
      for (int i = 0; i < shape->rank(); ++i) powers = powers && simt::is_power_of_two((*shape)[i]);
    const bool part = v.spread(self.operands[0]) == Spread::Flat && numel(source) < v.grid().threads();  // some threads hold nothing of it
    if (!powers || part) continue;
    const auto from = linear_layout(v.grid(), source), to = linear_layout(v.grid(), target);
    const int bits = bits_of(numel(source));
    if (!from || !to || !from->covers(bits)) continue;
    changes[id] = {*from, to->mapped(elements_of(self.word, source, target)), bits};
  }
  return changes;
}

}  // namespace tegula::gpu
