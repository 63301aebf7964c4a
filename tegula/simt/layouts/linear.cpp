#include "tegula/simt/layouts/linear.h"

#include <bit>

namespace tegula::simt {

namespace {

/// Columns with one leading bit each, and which of the given ones each of them is made of.
struct Basis {
  std::vector<std::pair<Bits, Bits>> rows;  // the column, the given ones as bits

  /// The rest of `column` after removing everything in the span of the basis; `made_of` follows.
  Bits reduced(Bits column, Bits& made_of) const {
    for (const auto& [row, from] : rows)
      if (column & std::bit_floor(row)) column ^= row, made_of ^= from;
    return column;
  }
  bool add(Bits column, Bits made_of) {
    column = reduced(column, made_of);
    if (column == 0) return false;
    const Bits lead = std::bit_floor(column);
    for (auto& [row, from] : rows)
      if (row & lead) row ^= column, from ^= made_of;
    rows.emplace_back(column, made_of);
    return true;
  }
};

Basis basis_of(std::span<const Bits> columns) {
  Basis basis;
  for (std::size_t i = 0; i < columns.size(); ++i) basis.add(columns[i], Bits{1} << i);
  return basis;
}

}  // namespace

Bits product(std::span<const Bits> columns, Bits bits) {
  Bits result = 0;
  for (; bits != 0; bits &= bits - 1) result ^= columns[static_cast<std::size_t>(std::countr_zero(bits))];
  return result;
}

int rank_of(std::span<const Bits> columns) { return static_cast<int>(basis_of(columns).rows.size()); }

std::optional<Bits> solve(std::span<const Bits> columns, Bits target) {
  Bits made_of = 0;
  if (basis_of(columns).reduced(target, made_of) != 0) return {};
  return made_of;
}

Columns Linear::threads() const {
  Columns all = lanes_;
  all.insert(all.end(), warps_.begin(), warps_.end());
  return all;
}

bool Linear::covers(int bits) const {
  Columns all = threads();
  all.insert(all.end(), registers_.begin(), registers_.end());
  for (const Bits column : all)
    if (column >> bits != 0) return false;
  return rank_of(all) == bits;
}

Linear Linear::mapped(std::span<const Bits> map) const {
  Linear result = *this;
  for (Columns* columns : {&result.registers_, &result.lanes_, &result.warps_})
    for (Bits& column : *columns) column = product(map, column);
  return result;
}

Linear fragment_layout(Fragment fragment, int rows, int columns, int warps) {
  const auto at = [&](int row, int column) { return static_cast<Bits>(row * columns + column); };
  Columns registers, lanes, of_warps;
  int tile_rows = 16, tile_columns = 8;
  switch (fragment) {
    case Fragment::Accumulator:  // pairs of neighbours, then the lower half
      registers = {at(0, 1), at(8, 0)};
      lanes = {at(0, 2), at(0, 4), at(1, 0), at(2, 0), at(4, 0)};
      break;
    case Fragment::Left:
      tile_columns = 16;
      registers = {at(0, 1), at(8, 0), at(0, 8)};
      lanes = {at(0, 2), at(0, 4), at(1, 0), at(2, 0), at(4, 0)};
      break;
    case Fragment::Right:  // terms x columns: pairs of neighbouring terms
      registers = {at(1, 0), at(8, 0)};
      lanes = {at(2, 0), at(4, 0), at(0, 1), at(0, 2), at(0, 4)};
      break;
  }
  for (int step = tile_columns; step < columns; step *= 2) registers.push_back(at(0, step));
  int shared = tile_rows;
  if (fragment == Fragment::Right) {  // all warps have all of it
    for (int n = 1; n < warps; n *= 2) of_warps.push_back(0);
  } else {
    for (int n = 1; n < warps; n *= 2, shared *= 2) of_warps.push_back(shared < rows ? at(shared, 0) : 0);
  }
  for (; shared < rows; shared *= 2) registers.push_back(at(shared, 0));
  return {registers, lanes, of_warps};
}

}  // namespace tegula::simt
