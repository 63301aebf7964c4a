#pragma once
// The order of what becomes steps: groups, calls, and items with kernels of their own.

#include <cstdint>
#include <vector>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

/// A group, or an item that is a call or has kernels of its own.
struct StepSource {
  int group = -1, item = -1;
};

/// Program order, as far as the data flow allows; what writes over a Variable's old value comes behind all checks.
///
/// Exchanges with other processes go ahead of it: each stands where what it sends is there and the one before it has gone, and with it what is made for
/// exchanges alone (the join of a bucket of gradients). Who reads their results stays behind. What is computed in between is what an exchange hides
/// behind. A gather of what ranks have parts of (ZeRO's stage 3: LibraryOp::makes_anew) goes ahead to where the one before it was: one layer,
/// not all of them.
///
/// Where each step is a launch, casts of leaves (weights, for products in half) and copies of those come first of all, so that they are one launch
/// together: one by one each product would wait for its own.
enum class Steps : std::uint8_t { Calls, Launches };
std::vector<StepSource> sources_in_order(const Plan& plan, Steps steps);

}  // namespace tegula::compile
