#pragma once
// What a machine is: memory, tile programs, and a handful of library calls. cpu/ and cuda/ implement it and know no op.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/buffer.h"
#include "tegula/core/error.h"
#include "tegula/runtime/call.h"
#include "tegula/runtime/call_description.h"
#include "tegula/runtime/costs.h"
#include "tegula/runtime/queue.h"
#include "tegula/tile/ir.h"
#include "tegula/tile/preference.h"

namespace tegula::runtime {

using tile::TilePreference;

/// One argument of a launch: a pointer, or a scalar (integers and booleans in `integer`, floats in `real`).
union Argument {
  void* pointer;
  std::int64_t integer;
  double real;
};

/// One grid of program instances over its own arguments. A launch may hold many (an optimiser step: one per parameter).
struct ArgumentSet {
  const Argument* arguments = nullptr;  // one per Program::parameters
  std::array<std::int64_t, 3> grid{1, 1, 1};
};

struct LaunchOptions {
  int threads = 1;              // CPU: how many threads share the program instances
  bool streaming = false;       // CPU: stores bypass the caches (outputs larger than the last-level cache)
  Failure* failure = nullptr;  // where a failed Assert is reported; needed when the program has one. On an asynchronous device it is the
      // device's own memory; its `report`, in shared memory, is meaningful after synchronize()
  std::span<const Failure> guards;  // in the device's memory: the launch does nothing when one of them has failed before it
};

/// What memory is for, as a report of a full memory says it.
struct Purpose {
  std::string_view what;        // "relu"; copied by who keeps it
  Line where{}; // the user's line
};

/// A device has no memory left, not even after giving back what it kept for reuse.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

class Kernel;

/// A launch that is known before it happens.
struct PlannedLaunch {
  const Kernel* kernel = nullptr;
  std::span<const ArgumentSet> sets;
  bool guarded = false;  // LaunchOptions::guards will not be empty
};

/// What a launch takes of a GPU.
struct KernelFigures {
  std::int64_t blocks = 0;       // of the launch
  int threads = 0;               // of a block
  int registers = 0;             // of a thread
  std::size_t local_bytes = 0;   // of a thread: what did not fit into registers (spills) and lies in memory
  std::size_t shared_bytes = 0;  // of a block
  int resident_blocks = 0;       // that fit on a multiprocessor at once
  double occupancy = 0;          // their threads, as a share of those that a multiprocessor can hold
};

/// A tile program made ready for a device. Immutable to its users; launches may come from several threads.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// For Queue::launch; by itself, by the device's queue of Use::Compute. CPU: has run when it returns. Asynchronous devices: is queued behind what was
  /// queued before; `sets` and the arguments are copied.
  virtual void launch(std::span<const ArgumentSet> sets, const LaunchOptions& options) const = 0;
  /// What was compiled, for people: bytecode on the CPU, CUDA C++ on the GPU.
  virtual std::string listing() const = 0;
  /// The same for what this launch runs, where that depends on the arguments.
  virtual std::string listing_of(const PlannedLaunch& /*launch*/) const { return listing(); }
  /// What it was compiled to (PTX) and what it takes; nothing on the CPU.
  virtual std::string assembly(const PlannedLaunch& /*launch*/) const { return ""; }
  virtual std::optional<KernelFigures> figures(const PlannedLaunch& /*launch*/) const { return {}; }
};

/// What a device is, for people and as the limit that results are shares of. A rate of 0 is not known.
struct DeviceProperties {
  std::string model = {};  // "NVIDIA H200"
  std::string architecture = {};  // "sm_90"; the instruction set of a CPU
  int processors = 0;  // cores, or multiprocessors
  std::size_t memory_bytes = 0;
  double bytes_per_second = 0;  // of the memory, read plus written
  // Floating-point operations per second of matrix products, sums in f32: operands in f32, f32 rounded to tf32, bf16, f16 and E4M3 (dense).
  double f32 = 0, tf32 = 0, bf16 = 0, f16 = 0, fp8 = 0;
};

/// When calls take slices of larger tensors (graph/slices.h) as fast as tensors of their own, and which weights they take.
struct LayoutRules {
  std::size_t alignment = 64;  // bytes, of where rows begin
  // Bytes: rows that are apart by a multiple of it share few places of the cache (64 rows of 256 at a distance of 64 KiB: a product takes 1.3
  // times as long). 0: none.
  std::size_t worst_distance = 4096;
  bool reads_pixels_apart = false;  // convolutions, channels-last images with room between the pixels; where not, they copy them
  bool weights_channels_last = false;  // convolutions, weights that lie as (K, kernel…, C/groups)
  bool weights_in_blocks =
      false;  // convolutions and products, weights that stay from run to run: asked for any blocks, candidates() says which
};

/// What a device is like, for those who plan its work.
struct DeviceTraits {
  bool queues = false;  // launches, calls and copies are queued and run in order later
  bool numbers_in_memory =
      false;  // numbers that change from run to run come from memory (pointers to rank-0 values), so that work can be recorded
  bool launches_are_dear = false;  // beside the work of a short step: fewer, larger ones are better
  bool many_instances = false;  // thousands of program instances run at once: what a library does one by one is better split
  LayoutRules layouts = {};
};

/// A way in which a device computes what it was asked for.
struct Candidate {
  CallDescription description =
      {};  // operands may lie otherwise or have another dtype than was asked for, an epilogue may be left to tile programs
  std::optional<double> seconds = {};  // roughly, beside those of the other candidates; without casts and copies. Nothing: not told
  bool programs_are_faster = false;  // tile programs in its place, which fuse with what is around them
};

class TimeMark;
class Communicates;

/// What is known of a device once and for all.
struct DeviceFacts {
  std::string name = {};  // "cpu", "cuda:0"
  int number = 0;  // Buffer::device()
  DeviceTraits traits = {};
  TilePreference tiles = {};
  Costs costs = {};
};

/// The memory of a device.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// `purpose` is told when memory runs out. Throws OutOfMemory.
  virtual Ref<Buffer> allocate(std::size_t bytes, const Purpose& purpose) = 0;
  /// Memory that host and device both read and write at the same address; 64-byte aligned.
  virtual Ref<Buffer> allocate_shared(std::size_t bytes) { return allocate(bytes, {}); }
  /// How often allocate had to ask the system (a steady state asks never), bytes in use and kept for reuse.
  virtual PoolCounters counters() const { return host_pool_counters(); }
  /// Gives all kept blocks back to the system.
  virtual void trim() { trim_host_pool(); }
};

/// The queues of a device, and what concerns all of them.
class DeviceQueues {
 public:
  virtual ~DeviceQueues() = default;
  virtual Queue& of(Use use) = 0;
  /// Waits for everything that was put into them. Throws Error when something of it failed.
  virtual void synchronize() = 0;
  /// Queues a copy of bytes of another device's memory to memory of this one, behind what was queued on both so far. What is queued on either from now on comes
  /// behind the copy: `from` may be given back on return. False where the two cannot, or one of them records: then nothing was queued.
  virtual bool copy_from(void* /*to*/, Device& /*other*/, const void* /*from*/, std::size_t /*bytes*/) { return false; }
  /// A place in the device's work that tells when it was reached; null where it tells no times.
  virtual std::unique_ptr<TimeMark> time_mark();
};

/// What makes kernels of tile programs.
class ProgramCompiler {
 public:
  virtual ~ProgramCompiler() = default;
  /// Remembered by the caller. Throws Error when the program uses what the device cannot do. A device may put off the work until prepare()
  /// or the first launch.
  virtual std::unique_ptr<Kernel> compile(const tile::Program& program) = 0;
  /// Begins to compile the kernels of these launches, side by side with what else there is to do. Of a pointer only counts what a multiple
  /// of it is: a guess costs time where it is wrong.
  virtual void request(std::span<const PlannedLaunch> /*launches*/) {}
  /// Finishes the compilation of the kernels of these launches together, for the arguments they will have.
  virtual void prepare(std::span<const PlannedLaunch> /*launches*/) {}
};

/// A machine: facts, three things that it has, calls, and what it says of itself. These eight virtuals are all of it.
class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceMemory& pool() = 0;
  virtual DeviceQueues& queues() = 0;
  virtual ProgramCompiler& compiler() = 0;
  /// The ways in which the device computes this, the best for the call alone first. A way may have another form: operands that lie otherwise, another dtype,
  /// less of an epilogue. None: the device has no such call. May take a moment where it is measured.
  virtual std::vector<Candidate> candidates(const CallDescription& description) const = 0;
  /// The call, prepared. Throws Error for a description that breaks its own rules, and for one that the device cannot compute.
  virtual std::unique_ptr<Call> make(const CallDescription& description) = 0;
  /// The most threads a step may use (1 on devices where the word has no meaning).
  virtual int max_threads() const { return 1; }
  /// May take a moment at the first call: where a maker states no rate it is measured.
  virtual DeviceProperties properties() { return {.model = name()}; }
  /// How it exchanges with others of its make, without the host; null where it does not.
  virtual Communicates* communicates() { return nullptr; }

  const DeviceFacts& facts() const { return facts_; }
  const std::string& name() const { return facts_.name; }
  int number() const { return facts_.number; }
  const DeviceTraits& traits() const { return facts_.traits; }
  const TilePreference& tiles() const { return facts_.tiles; }
  const Costs& costs() const { return facts_.costs; }

  /// Whether the description is among its candidates as it is.
  bool takes(const CallDescription& description) const;
  /// Seconds of the call, as the first candidate says or else the table of costs; 0 where neither knows, or the device has no such call.
  double cost(const CallDescription& description) const;

  // Short for what its parts do
  Ref<Buffer> allocate(std::size_t bytes, const Purpose& purpose = {}) { return pool().allocate(bytes, purpose); }
  Ref<Buffer> allocate_shared(std::size_t bytes) { return pool().allocate_shared(bytes); }
  PoolCounters memory() { return pool().counters(); }
  void trim_memory() { pool().trim(); }
  Queue& queue(Use use = Use::Compute) { return queues().of(use); }
  void synchronize() { queues().synchronize(); }
  bool copy_from(void* to, Device& other, const void* from, std::size_t bytes) { return queues().copy_from(to, other, from, bytes); }
  std::unique_ptr<TimeMark> time_mark();
  std::unique_ptr<Kernel> compile(const tile::Program& program) { return compiler().compile(program); }
  void request(std::span<const PlannedLaunch> launches) { compiler().request(launches); }
  void prepare(std::span<const PlannedLaunch> launches) { compiler().prepare(launches); }
  /// By the queue of Use::Compute.
  void copy_in(void* device, const void* host, std::size_t bytes);
  void copy_out(void* host, const void* device, std::size_t bytes);
  void copy(void* to, const void* from, std::size_t bytes);

 protected:
  Device() = default;
  explicit Device(DeviceFacts facts) : facts_(std::move(facts)) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  DeviceFacts facts_;  // settled before anybody else has the device
};

/// Queues of a device where everything is over when it returns.
class ImmediateQueues final : public DeviceQueues {
 public:
  explicit ImmediateQueues(Device& device) : all_(device) {}
  Queue& of(Use use) override { return all_[use]; }
  void synchronize() override {}

 private:
  QueuesOf<ImmediateQueue> all_;
};

/// Error of make() for what a device has no call for.
[[noreturn]] void throw_no_call(const Device& device, const CallDescription& description);

/// The CPU; defined in cpu/.
Device& cpu();

}  // namespace tegula::runtime
