#pragma once
// A library call that a device has prepared.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tegula/core/line.h"

namespace tegula::runtime {

/// The first failed check of a launch or call, in an unspecified order among program instances. id is -1 while nothing failed.
struct Failure {
  std::int64_t id = -1;
  std::int64_t value = 0;
  Failure* report = nullptr;  // gets the same, for a host that cannot read this one
};

/// Notes a failure where it is asked for, and where the host can read it; the first one stays. A null `failure` asks for none.
inline void report(Failure* failure, std::int64_t id, std::int64_t value) {
  if (failure && failure->id >= 0) return;
  for (; failure; failure = failure->report) failure->id = id, failure->value = value;
}

/// The arguments of a run beside its buffers.
struct RunOptions {
  void* scratch = nullptr;     // Call::scratch_bytes(), 64-byte aligned
  int threads = 1;             // CPU: how many may share the work
  Failure* failure =
      nullptr;  // device memory in which a call that checks reports a failure (Op::check_message); null for calls without checks
  Line line = {};              // the line of the user's program that the step comes from, for errors
};

struct CallSteps;

/// Thread-safe as long as each caller brings its own scratch.
class Call {
 public:
  virtual ~Call() = default;
  /// The steps that it consists of, where there are several (runtime/call_steps.h): a plan has them as steps of its own.
  virtual const CallSteps* steps() const { return nullptr; }
  virtual std::size_t scratch_bytes() const { return 0; }
  /// buffers: as the description says (runtime/call_description.h). For Queue::run; by itself, by the device's queue of Use::Compute.
  virtual void run(std::span<void* const> buffers, const RunOptions& options) const = 0;
  /// "brgemm:avx512_core 64x128x784", for printed plans.
  virtual std::string describe() const = 0;

  /// True if the call may still be running when begin() returns.
  virtual bool begins() const { return false; }
  /// For such a call: begins run() and returns at once, with the ticket for finish(). Until finish() nothing else may write the call's inputs or
  /// touch its outputs. One thread begins and finishes.
  virtual std::uint64_t begin(std::span<void* const> buffers, const RunOptions& options) const { return run(buffers, options), 0; }
  /// Waits for this call and those begun before it. Rethrows its exception.
  virtual void finish(std::uint64_t /*ticket*/) const {}
};

}  // namespace tegula::runtime
