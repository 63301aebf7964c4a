#pragma once
// Where steps are walked, or queued, one after another, exchanges with other processes go on beside them: each is begun at its place, or put into the device's
// queue for exchanges, and waited for in front of the first step that its memory matters to.

#include <vector>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

struct Overlap {
  std::vector<bool> begins;  // per step: an exchange that is begun there. Empty: no step is.
  std::vector<int> waits;  // per step: the exchange, begun before, that has to be over first, and with it those before that; or -1
};

/// After plan_memory. An exchange with no other work between it and who waits for it is not begun, but carried out in its place. `asynchronous`: of a device that
/// queues its work.
Overlap overlap(const Plan& plan, bool asynchronous);

/// Per step, the last step during which its memory is in use: its own number, or, of an exchange that goes on beside others (on a device that queues its work all
/// may), that of the last one in front of who touches its results, or of one by which it is taken to be over: gradients of which a rank keeps a part do not all lie
/// there until the end of a step. `root`: of each item, the one whose memory it has a part in. For plan_memory.
std::vector<int> in_use_until(const Plan& plan, const std::vector<int>& root, bool asynchronous);

/// The same in the form of dependencies(), for check_order: what is over when a step begins.
std::vector<std::vector<int>> order_of_walk(const Plan& plan, const Overlap& overlap);

}  // namespace tegula::compile
