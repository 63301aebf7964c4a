#pragma once
// What random graphs would find at once because it is not mended yet. Each switch goes with its mend.

namespace tegula::property::unmended {

/// History outside jit, and what a Variable holds as a leaf of its own (X4, X5, X6, U1, U2): gradients after looks, in eager mode and past a pending
/// bound are left out, and programs that write Variables, or begin two with one tensor, take none.
constexpr bool kHistory = false;
/// Functions under checkpoint (X14, and integer results): programs with gradients are left out.
constexpr bool kCheckpoint = false;
/// avg_pool with ceil_mode makes a leaf at each call (X9).
constexpr bool kCeilMode = false;

/// Mended; to go with the code that asks for it. Outcomes explained by one value that is computed twice in two ways (X8) would be counted apart.
constexpr bool kContraction = false;

/// A number that a dtype does not hold, compared with it: u8 > -1 holds in a fused program, and not where the number is a value of its own (255).
constexpr bool kUnsignedNumbers = false;

}  // namespace tegula::property::unmended
