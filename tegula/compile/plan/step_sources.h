#pragma once
// The order of the sources of steps: fused groups, calls, and items with kernels of their own.

#include <cstdint>
#include <vector>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

/// A group, or an item that is a call or has kernels of its own.
struct StepSource {
  int group = -1, item = -1;
};

/// The sources in program order, as far as the data flow allows; writers over a Variable's old value come after all checks.
///
/// Exchanges with other processes move up: each stands right after its operands and the exchange before it, together with work that only
/// exchanges need (the join of a bucket of gradients). Readers of their results do not move, so an exchange overlaps the work in
/// between. A gather of sharded weights (ZeRO stage 3: LibraryOp::makes_anew) moves up to the place of the gather before it: by one layer,
/// not by all.
///
/// With Steps::Launches, casts of leaves (weights, for matmuls in half) and copies of those come first, so that they merge into one
/// launch; otherwise each matmul would wait for a cast of its own.
enum class Steps : std::uint8_t { Calls, Launches };
std::vector<StepSource> sources_in_order(const Plan& plan, Steps steps);

}  // namespace tegula::compile
