#include "tegula/simt/layouts/rows.h"

#include <algorithm>
#include <bit>

namespace tegula::gpu {

using simt::Bits;
using simt::Columns;

namespace {

/// A column for each bit of a number below `count`, which moves the element by `distance` times the number.
void append(Columns& columns, std::int64_t count, std::int64_t distance) {
  for (std::int64_t bit = 1; bit < count; bit *= 2) columns.push_back(static_cast<Bits>(bit * distance));
}

}  // namespace

std::optional<simt::Linear> linear_layout(const ThreadGrid& grid, const Shape& shape) {
  constexpr std::int64_t kMostElements = 1 << 20;
  const std::int64_t count = numel(shape), threads = grid.threads();
  if (grid.cluster > 1 || grid.parts() > 1 || grid.staged || !simt::is_power_of_two(threads) || threads < 32 ||
      !simt::is_power_of_two(count) || count > kMostElements)
    return {};
  Columns registers, of_threads;
  const Spread spread = grid.spread_of(shape);
  if (spread == Spread::Flat) {
    append(of_threads, std::min(threads, count), 1);
    append(registers, count / threads, threads);
    while (of_threads.size() < static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(threads)))) of_threads.push_back(0);
  } else {
    for (const std::int64_t size : {grid.rows, grid.columns, std::int64_t{grid.column_threads}})
      if (!simt::is_power_of_two(size)) return {};
    if (!grid.rows_fit() || !grid.columns_fit()) return {};
    const bool rows = spread == Spread::Row || spread == Spread::Full, columns = spread == Spread::Column || spread == Spread::Full;
    const std::int64_t of_row = !columns                 ? 1
                                : spread == Spread::Full ? shape.back()
                                                         : grid.columns;  // elements of the tile from one row to the next
    if (grid.groups) {
      append(of_threads, 4, columns ? grid.vector : 0), append(of_threads, 8, rows ? of_row : 0);
      append(of_threads, grid.row_threads / 8, rows ? 16 * of_row : 0);
    }
    const int beside = grid.column_warps, column_lanes = grid.column_threads / beside;  // warps of fragments may lie beside each other
    if (!grid.groups) append(of_threads, column_lanes, columns ? grid.vector : 0);
    if (beside > 1) append(of_threads, 8, rows ? of_row : 0), append(of_threads, beside, columns ? column_lanes * grid.vector : 0);
    if (!grid.groups) append(of_threads, beside > 1 ? grid.row_threads / 8 : grid.row_threads, rows ? (beside > 1 ? 8 : 1) * of_row : 0);
    if (columns)
      append(registers, grid.vector, 1), append(registers, spread == Spread::Full ? grid.column_steps_of(shape) : grid.column_steps,
                                                std::int64_t{grid.column_threads} * grid.vector);
    if (rows && grid.groups)
      append(registers, 2, grid.row_half() * of_row), append(registers, grid.row_steps / 2, grid.row_tile() * of_row);
    else if (rows) append(registers, grid.row_steps, grid.row_threads * of_row);
  }
  const auto lanes = of_threads.begin() + simt::Linear::kLaneBits;
  return simt::Linear(registers, Columns(of_threads.begin(), lanes), Columns(lanes, of_threads.end()));
}

}  // namespace tegula::gpu
