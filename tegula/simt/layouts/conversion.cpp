#include "tegula/simt/layouts/conversion.h"

#include <algorithm>
#include <bit>

namespace tegula::simt {

namespace {

constexpr int kMostChoices = 1;  // bits of the thread that choose among registers; one more doubles the instructions

Columns joined(const Columns& a, const Columns& b) {
  Columns all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

/// The place of an element in a warp, its own lane where that has it.
std::optional<Spot> place_in_warp(const Linear& from, Bits element, const Spot& own) {
  const Bits left = element ^ from.element({0, 0, own.warp});
  if (const auto reg = solve(from.registers(), left ^ product(from.lanes(), own.lane))) return Spot{*reg, own.lane, own.warp};
  const auto both = solve(joined(from.registers(), from.lanes()), left);
  if (!both) return {};
  const auto held = static_cast<Bits>(from.registers().size());
  return Spot{*both & ((Bits{1} << held) - 1), *both >> held, own.warp};
}

/// Fills in where the numbers lie if each is in a register of its warp.
bool stays_in_warp(const Linear& from, const Linear& to, Conversion& conversion) {
  const auto follow = [&](const Columns& columns, std::vector<Spot>& out, auto own) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto place = place_in_warp(from, columns[i], own(Bits{1} << i));
      if (!place) return false;
      out.push_back(*place);
    }
    return true;
  };
  return follow(to.registers(), conversion.of_registers, [](Bits) { return Spot{}; }) &&
         follow(to.lanes(), conversion.of_lanes, [](Bits bit) { return Spot{0, bit, 0}; }) &&
         follow(to.warps(), conversion.of_warps, [](Bits bit) { return Spot{0, 0, bit}; });
}

/// The number of bits of the register's number that depend on the thread.
int choices(const Conversion& conversion) {
  Columns registers;
  for (const auto* spots : {&conversion.of_lanes, &conversion.of_warps})
    for (const Spot& spot : *spots) registers.push_back(spot.reg);
  return rank_of(registers);
}

bool keeps_lanes(const Conversion& conversion) {
  for (std::size_t i = 0; i < conversion.of_lanes.size(); ++i)
    if (conversion.of_lanes[i].lane != Bits{1} << i) return false;
  const auto none = [](const Spot& spot) { return spot.lane == 0; };
  return std::ranges::all_of(conversion.of_registers, none) && std::ranges::all_of(conversion.of_warps, none);
}

/// Returns the columns that are independent of `kept` and of the columns before them.
Columns independent_of(Columns kept, const Columns& columns) {
  Columns added;
  for (const Bits column : columns) {
    if (solve(kept, column)) continue;
    kept.push_back(column);
    added.push_back(column);
  }
  return added;
}

/// A basis of what both sets of independent columns make.
Columns common(const Columns& a, const Columns& b) {
  Columns all, result;
  for (const Bits column : a) all.push_back(column);
  for (const Bits column : b) {
    if (const auto made_of = solve(all, column)) {  // from columns of `a`, and earlier ones of `b`
      const Bits of_a = *made_of & ((Bits{1} << a.size()) - 1);
      result.push_back(product(a, of_a));
    } else {
      all.push_back(column);
    }
  }
  return result;
}

/// The words of the elements, as coordinates in a basis: those that lanes tell apart come first, in banks.
Columns words_of(const Linear& from, const Linear& to, int bits, std::size_t element_bytes) {
  const std::size_t lanes =
      element_bytes > 4 ? Linear::kLaneBits - 1 : Linear::kLaneBits;  // half a warp at a time moves words of eight bytes
  const auto together = [&](const Columns& all) {
    return independent_of({}, Columns(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(lanes)));
  };
  const Columns written = together(from.lanes()), read = together(to.lanes());
  Columns basis = common(written, read);
  const Columns only_written = independent_of(basis, written), only_read = independent_of(basis, read);
  Columns further;
  for (std::size_t i = 0; i < std::max(only_written.size(), only_read.size()); ++i) {
    basis.push_back(i < only_written.size() ? only_written[i] : only_read[i]);  // these two lie in one bank
    if (i < only_written.size() && i < only_read.size()) further.push_back(only_written[i] ^ only_read[i]);
  }
  basis.insert(basis.end(), further.begin(), further.end());
  Columns units;
  for (int bit = 0; bit < bits; ++bit) units.push_back(Bits{1} << bit);
  const Columns rest = independent_of(basis, units);
  basis.insert(basis.end(), rest.begin(), rest.end());
  Columns words;
  for (const Bits unit : units) words.push_back(solve(basis, unit).value());
  return words;
}

}  // namespace

Spot Conversion::source_of(const Spot& target) const {
  Spot source;
  const auto add = [&](const std::vector<Spot>& columns, Bits bits) {
    for (; bits != 0; bits &= bits - 1) {
      const Spot& column = columns[static_cast<std::size_t>(std::countr_zero(bits))];
      source = {source.reg ^ column.reg, source.lane ^ column.lane, source.warp ^ column.warp};
    }
  };
  add(of_registers, target.reg), add(of_lanes, target.lane), add(of_warps, target.warp);
  return source;
}

Conversion conversion_of(const Linear& from, const Linear& to, int bits, std::size_t element_bytes) {
  Conversion conversion;
  if (stays_in_warp(from, to, conversion) && choices(conversion) <= kMostChoices) {
    conversion.way = keeps_lanes(conversion) ? Conversion::Way::Registers : Conversion::Way::Lanes;
    // Values repeated in many registers are read from memory with less work than from other lanes.
    if (conversion.way == Conversion::Way::Registers || to.registers().size() <= from.registers().size() + 1) return conversion;
  }
  return through_shared(from, to, bits, element_bytes);
}

Conversion through_shared(const Linear& from, const Linear& to, int bits, std::size_t element_bytes) {
  return {
      .way = Conversion::Way::Shared, .of_registers = {}, .of_lanes = {}, .of_warps = {}, .words = words_of(from, to, bits, element_bytes)};
}

}  // namespace tegula::simt
