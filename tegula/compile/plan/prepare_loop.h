#pragma once
// A loop as a call of the plan around it. Declared here, defined in run/: the link goes up, the includes do not.

#include <memory>
#include <vector>

#include "tegula/compile/plan/plan.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// A call that runs a plan of its own.
class BodyCall : public runtime::Call {
 public:
  /// Null where the steps compute nothing.
  virtual const Plan* body() const = 0;
};

/// Of the plan, and of those that its loops run.
inline std::size_t arena_bytes(const Plan& plan) {
  std::size_t bytes = plan.arena_bytes;
  for (const Step& step : plan.steps)
    if (const auto* loop = dynamic_cast<const BodyCall*>(step.call.get()); loop && loop->body()) bytes += arena_bytes(*loop->body());
  return bytes;
}

/// The body, compiled once: buffers of a run are the loop's inputs and results, dense; null for those that are not wanted. What its parameters that stay
/// are made into (weights in another dtype or layout) is computed once a run. Throws what a failed check in the body throws, before anything but
/// the results is written.
std::unique_ptr<runtime::Call> prepare_loop(const LoopOp& loop, const std::vector<bool>& wanted, runtime::Device& device);

}  // namespace tegula::compile
