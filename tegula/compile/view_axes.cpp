#include "tegula/compile/view_axes.h"

#include <algorithm>

namespace tegula::compile {
namespace {

// Views multiply strides (steps, windows) and add them (diagonals). While the offset stays 0 no axis is run over backwards, so each stride is a
// sum of positive multiples of marks; as all marks lie between M and 2 M, only a mark itself is as small as a mark. They are primes, so
// that no reshape merges two axes, and small, so that no offset of a tensor that fits into memory overflows.
constexpr std::array<std::int64_t, kMaxRank> kMarks{1'048'583, 1'179'649, 1'310'723, 1'441'807, 1'572'869, 1'703'941, 1'835'017, 1'966'123};

}  // namespace

Layout marked(const Shape& base) {
  Layout layout{base, Dims::filled(base.rank(), 0), 0};
  for (int i = 0; i < base.rank(); ++i) layout.strides[i] = kMarks[static_cast<std::size_t>(i)];
  return layout;
}

std::optional<AxisMap> axes_of(const Shape& base, const Layout& seen) {
  if (seen.offset != 0) return std::nullopt;
  AxisMap axes{}, times{};
  for (int i = 0; i < seen.shape.rank(); ++i) {
    axes[static_cast<std::size_t>(i)] = -1;
    if (seen.shape[i] == 1 || seen.strides[i] == 0) continue;
    const auto* const mark = std::find(kMarks.begin(), kMarks.begin() + base.rank(), seen.strides[i]);
    const int axis = static_cast<int>(mark - kMarks.begin());
    if (axis == base.rank() || base[axis] != seen.shape[i]) return std::nullopt;  // a slice, a flip, a part
    axes[static_cast<std::size_t>(i)] = axis;
    ++times[static_cast<std::size_t>(axis)];
  }
  for (int axis = 0; axis < base.rank(); ++axis) {
    if (base[axis] != 1 && times[static_cast<std::size_t>(axis)] != 1) return std::nullopt;
  }
  return axes;
}

}  // namespace tegula::compile
