#include "tegula/tile/ladder.h"

#include <algorithm>
#include <bit>

namespace tegula::tile {
namespace {

constexpr std::int64_t kColumns = 64;

/// The smallest of 1, 16, 64, 256, 1024 … that holds so many.
std::int64_t rung(std::int64_t count) {
  if (count <= 1) return 1;
  std::int64_t rung = 16;
  while (rung < count) rung *= 4;
  return rung;
}

std::int64_t power_from(std::int64_t count) { return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count))); }
std::int64_t power_to(std::int64_t count) { return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count))); }

}  // namespace

bool Ladder::exact(std::int64_t extent) const {
  return !on || (std::ranges::binary_search(same, extent) && std::ranges::find(changing, extent) == changing.end());
}

std::int64_t Ladder::whole(std::int64_t extent) const {
  if (exact(extent)) return std::max<std::int64_t>(extent, 1);
  return extent <= 64 ? rung(extent) : power_from(extent);
}

std::int64_t Ladder::share(std::int64_t extent, std::int64_t most) const {
  most = std::max<std::int64_t>(most, 1);
  return exact(extent) ? std::clamp<std::int64_t>(extent, 1, most) : std::min(rung(extent), power_to(most));
}

std::int64_t Ladder::columns(std::int64_t rows, std::int64_t columns, std::int64_t elements) const {
  return share(columns, exact(columns) ? elements : std::min(elements, std::max(kColumns, elements / rung(rows))));
}

bool Ladder::masked(std::int64_t extent, std::int64_t tile) const { return extent % tile != 0 || (tile > 1 && !exact(extent)); }

}  // namespace tegula::tile
