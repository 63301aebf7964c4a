#pragma once
// TEGULA_CHECK=memory: what a plan reads without having written it, or after it was given up, is NaN (and -1) instead of what a run before left.
//
// The plan's proof (check_plan.h) is about places and values as the plan names them; this is about what kernels and calls really touch.

#include <utility>
#include <vector>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

/// All bits set: NaN in every float type, -1 in every signed integer.
inline constexpr unsigned char kPoison = 0xff;

/// Bytes [first, second) of the arena.
using Stretch = std::pair<std::size_t, std::size_t>;

/// Per step: what held something that nobody needs any more when it is over. After plan_memory.
std::vector<std::vector<Stretch>> dead_after(const Plan& plan);

}  // namespace tegula::compile
