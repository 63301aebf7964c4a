#pragma once
// Collective operations between the ranks of a run, and devices that exchange by themselves.

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "tegula/core/dtype.h"
#include "tegula/core/shape.h"
#include "tegula/runtime/device.h"

namespace tegula::runtime {

enum class CollectiveKind : std::uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast, Reduce, AllToAll, Send, Receive, Barrier };
enum class Reduction : std::uint8_t { Sum, Mean, Max };

/// One collective, as one rank sees it. Tensors are dense and row-major. With n ranks:
///   AllReduce      in (…), out (…)           the same bits on all ranks
///   ReduceScatter  in (n·k, …), out (k, …)   rank r gets the r-th k rows of the reduction
///   AllGather      in (k, …), out (n·k, …)   in the order of ranks
///   Broadcast      in (…), out (…)           the root's
///   Reduce         in (…), out (…)           the root gets the reduction, the others zeros
///   AllToAll       in (n·k, …), out (n·k, …) rank r gets the r-th k rows of every rank, in the order of ranks
///   Send, Receive  in (…) or out (…)         root is the other rank
///   Barrier        nothing
/// Integers wrap around; booleans know only Max.
struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  DType dtype = DType::f32;
  Shape shape;  // of the input; for Receive, of the output
  Reduction reduction = Reduction::Sum;
  int root = 0;  // in the group
  // In a jit, but of Send and Receive: a hash of its line, and which of the group's it is there, from 1: ranks that run one jit do the same ones in the same order. Else 0.
  std::uint64_t trace = 0;
  std::uint32_t number = 0;
};

/// The devices of several ranks, one of each, as one of them sees it.
class Communicator {
 public:
  virtual ~Communicator() = default;
  /// True if the communicator has this collective; the host runs the others (HostTurn).
  virtual bool has(const Collective& what) const = 0;
  /// The call; its first buffer is the input, its last the output. Queued like any call, and may be recorded. Sums of halves may be rounded at every step.
  virtual std::unique_ptr<Call> call(const Collective& what) = 0;
  /// The failure between the devices, or "". To be called by a thread that queues nothing.
  virtual std::string failure() const = 0;
  /// Ends all queued exchanges, wherever the other ranks are: results are then undefined. May be called by another thread, once; never waits.
  virtual void abort() noexcept = 0;
};

/// A device's own exchange with others of its make (Device::communicates).
class Communicates {
 public:
  using Id = std::array<char, 128>;
  virtual ~Communicates() = default;
  /// Names the device among all there are: two ranks that have the same one cannot exchange so.
  virtual std::string identity() = 0;
  /// "NCCL 2.28.9". Throws Error saying what is missing.
  virtual std::string engine() = 0;
  /// Drawn by one rank for a communicator; all of its ranks need it.
  virtual Id draw_id() = 0;
  /// Waits for the others, each of which calls it with its rank among them. May be called by a thread of its own.
  virtual std::unique_ptr<Communicator> join(const Id& id, int rank, int size) = 0;
  /// While this thread records: makes `first` run before every replay, on the thread that queues the replay, which throws what `first` throws. False if nothing is recorded.
  virtual bool ahead_of_replays(std::function<void()> first) = 0;
  /// Seconds in which the queue, if it is not empty, has finished nothing; 0 if it is empty. Known after the first join().
  virtual double stalled() = 0;
  /// Sets the function called at the end of every synchronize(), on its thread, or none: it throws if the computed values must not be read.
  virtual void confirm_by(std::function<void()> confirm) = 0;
  /// The next synchronize() throws this.
  virtual void fail(std::exception_ptr failure) noexcept = 0;
};

}  // namespace tegula::runtime
