#pragma once
// The host's turn in a device's queue.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "tegula/runtime/device.h"

namespace tegula::runtime {

/// What the host does between two copies: so many bytes come to it, so many go back.
struct HostTurn {
  using Work = std::function<void(const void* input, void* output)>;
  std::size_t input_bytes = 0, output_bytes = 0;
  std::string text;  // Call::describe()
  /// Asked whenever the turn is queued, on the thread that queues it (runtime::CallSite is known there): the work.
  std::function<Work()> queued;
};

/// What a device is as well that queues its work and lets the host take a turn in it.
class GivesHostTurns {
 public:
  virtual ~GivesHostTurns() = default;
  /// A call that takes its input from its first buffer and puts its output into its last one. The work is done on a thread of the device, nothing of
  /// the queue beside it, and must not use the device. What it throws the next synchronize() throws.
  virtual std::unique_ptr<Call> host_turn(HostTurn turn) = 0;
};

}  // namespace tegula::runtime
