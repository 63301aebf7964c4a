#pragma once
// Overlaps exchanges with other processes with the steps that follow. An exchange begins at its place in the order (or enters the device's exchange queue),
// and the first step that touches its memory waits for it.

#include <vector>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

struct Overlap {
  std::vector<bool> begins;  // per step: it is an exchange that begins here. Empty: no step is one
  std::vector<int> waits;  // per step: the last begun exchange that must be over first, with all before it; or -1
};

/// The overlap of a plan after plan_memory. An exchange without work between it and its first reader runs in its place instead. `asynchronous`: the device
/// queues its work.
Overlap overlap(const Plan& plan, bool asynchronous);

/// Per step, the last step during which its memory is in use: its own number; for an overlapped exchange (on an asynchronous device any exchange) the step
/// before the first one that touches its results, or an earlier step by which it is assumed to be over, so that sharded gradients do not all stay in
/// memory until the end of a training step. For plan_memory.
std::vector<int> in_use_until(const Plan& plan, bool asynchronous);

/// The same as lists like dependencies(), for check_order: per step, the steps that are over when it begins.
std::vector<std::vector<int>> order_of_walk(const Plan& plan, const Overlap& overlap);

}  // namespace tegula::compile
