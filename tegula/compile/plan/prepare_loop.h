#pragma once
// A loop as a call of the plan around it. Declared here, defined in run/: the link goes up, the includes do not.

#include <cstddef>
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
  /// Of what its parameters that stay are made into, this body's and those of loops within it.
  virtual std::size_t kept_bytes() const = 0;
};

/// The body, compiled once: buffers of a run are the loop's inputs and results, dense; null for those that are not wanted; its scratch memory is the
/// arena of the body's plan, too. What its parameters that stay are made into (weights in another dtype or layout) is computed once a run. On a
/// device that queues its work the steps are queued one after another, or recorded. Throws what a failed check in the body throws, before anything but the results is written.
std::unique_ptr<runtime::Call> prepare_loop(const LoopOp& loop, const std::vector<bool>& wanted, runtime::Device& device);

}  // namespace tegula::compile
