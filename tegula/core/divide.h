#pragma once
// Integer division that a tile's last, partly filled piece counts in.

#include <cstdint>

namespace tegula {

/// The smallest number of pieces of size b that cover a; a >= 0, b > 0.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace tegula
