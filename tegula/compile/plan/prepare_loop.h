#pragma once
// A loop as a step of its enclosing plan. Declared here and defined in run/, so that includes point downward only.

#include <vector>

#include "tegula/compile/plan/plan.h"
#include "tegula/graph/regions/loop_op.h"

namespace tegula::compile {

/// The body, compiled once, and the places of each turn's values. Values made of its constant parameters alone (weights in another dtype or layout) are
/// computed once a run. On a device that queues its work the steps are queued one after another, or recorded. A run throws what a failed check in the
/// body throws, before anything but the results is written. Without buffers; `bound`.
SubPlan prepare_loop(const LoopOp& loop, const std::vector<bool>& wanted, runtime::Device& device);
/// The call that runs the loop's body by its schedule.
std::unique_ptr<runtime::Call> bind_loop(const SubPlan& loop, runtime::Device& device);

/// The body's plan; null where the turns compute nothing.
const Plan* body_of(const SubPlan& loop);
/// Bytes of the values kept for the loop's constant parameters, including those of loops inside the body.
std::size_t kept_bytes_of(const SubPlan& loop);

}  // namespace tegula::compile
