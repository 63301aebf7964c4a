#pragma once
// Executes kernels (simt/kernel/kernel.h) on the CPU, statement by statement, and watches them: no compiler and no GPU is needed.
//
// A warp is 32 lanes in step, with a mask of the active ones; warps go from one barrier to the next in an order of their own. The machine finds errors
// that a GPU would not report: threads that reach memory without a barrier between them; reads of unwritten memory, of the target of a copy under way, or
// outside of memory; barriers that not all threads reach. Bank conflicts of shared memory are counted.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tegula/runtime/device.h"
#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

struct Code;

/// A fault of a kernel.
struct Finding {
  enum class Kind : std::uint8_t {
    Race,  // two threads reach a place, one of them writes, and no barrier is between them; or two instances do, which no barrier orders
    Undefined,  // an unwritten value decides a branch, is an address, or reaches memory
    Outside,  // an address that belongs to no memory
    Misaligned,  // an access of several bytes at an address that is no multiple of them
    OnItsWay,  // memory that a copy has not filled yet is read or written
    Apart,  // threads of a warp, or warps, wait at different places
    NotBegun,  // a write into a block of the cluster that may not run yet
    Ended,  // a block of the cluster is reached that has ended
  };
  Kind kind{};
  std::string sentence;  // with the place in the kernel, the block and the thread
};

/// Accesses of warps to shared memory. A bank hands out four bytes at a time.
struct Banks {
  std::int64_t accesses = 0;  // of warps, in parts of 128 bytes
  std::int64_t conflicts = 0;  // how often one of them had to wait for a bank
};

struct Observed {
  std::vector<Finding> findings;  // each kind once at each place of the kernel
  Banks banks;
  bool stuck = false;  // threads wait for each other for ever
  std::vector<PrintedElement> printed;
};
/// Lines for people.
std::string to_string(const Observed& observed);

struct MachineOptions {
  /// At an even pace warps go from barrier to barrier one after another, and copies arrive when they begin. At an uneven one they go a random number of
  /// statements at a time, in a random order, and copies arrive when they are waited for.
  bool uneven = false;
  unsigned order = 0;  // odd: the last warp goes first; at an uneven pace what numbers are drawn from
  /// Memory that tensors lie in; where it is given, all that is reached must be in it.
  std::span<const std::span<const std::byte>> memory;
  int blocks = 2;  // of kernels whose blocks stay for several instances, or clusters of them
  bool instances_meet = false;  // several instances may write the same, as sets over the same arguments do
};

struct MachineLaunch {
  std::span<const runtime::ArgumentSet> sets;
  runtime::Failure* failure = nullptr;
  std::span<const runtime::Failure> guards;
};

/// A kernel, made ready once. May be run by several threads at a time.
class Machine {
 public:
  /// Throws Error where the kernel has what the machine does not know.
  explicit Machine(Kernel kernel);
  ~Machine();
  /// Leaves in memory what the kernel leaves, and shows what it prints. The grid is that of a launch of it: an instance is a block, or a cluster.
  Observed run(const MachineLaunch& launch, const MachineOptions& options = {}) const;

 private:
  Kernel kernel_;  // without its statements, which may lie in an arena
  std::unique_ptr<const Code> code_;
};

}  // namespace tegula::simt
