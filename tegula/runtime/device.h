#pragma once
// A device: memory, tile programs, and a handful of library calls. cpu/ and cuda/ implement it and know no op.

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
  Failure* failure = nullptr;  // memory for a failed Assert; needed if the program has one. On an asynchronous device it is the
      // device's own memory; its `report`, in shared memory, is meaningful after synchronize()
  std::span<const Failure> guards;  // in the device's memory: the launch does nothing when one of them has failed before it
};

/// The purpose of memory, for the report of a full memory.
struct Purpose {
  std::string_view what;        // "relu"; copied by who keeps it
  Line where{}; // the user's line
};

/// A device has no memory left, not even after giving back its cache.
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

/// The resources that a launch takes of a GPU.
struct KernelFigures {
  std::int64_t blocks = 0;       // per launch
  int threads = 0;               // per block
  int registers = 0;             // per thread
  std::size_t local_bytes = 0;   // per thread: spilled registers, which lie in memory
  std::size_t shared_bytes = 0;  // per block
  int resident_blocks = 0;       // that fit on a multiprocessor at once
  double occupancy = 0;          // their threads, as a share of the threads that a multiprocessor can hold
};

/// A tile program made ready for a device. Immutable to its users; launches may come from several threads.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// For Queue::launch; called directly, by the device's queue of Use::Compute. CPU: has run when it returns. Asynchronous devices: is queued after earlier
  /// work; `sets` and the arguments are copied.
  virtual void launch(std::span<const ArgumentSet> sets, const LaunchOptions& options) const = 0;
  /// The compiled program, for people: bytecode on the CPU, CUDA C++ on the GPU.
  virtual std::string listing() const = 0;
  /// The same for the variant that this launch runs, if that depends on the arguments.
  virtual std::string listing_of(const PlannedLaunch& /*launch*/) const { return listing(); }
  /// The PTX it was compiled to, and the resources it takes; nothing on the CPU.
  virtual std::string assembly(const PlannedLaunch& /*launch*/) const { return ""; }
  virtual std::optional<KernelFigures> figures(const PlannedLaunch& /*launch*/) const { return {}; }
};

/// The device's properties, for people and for stating results as shares of a peak. A rate of 0 is unknown.
struct DeviceProperties {
  std::string model = {};  // "NVIDIA H200"
  std::string architecture = {};  // "sm_90"; the instruction set of a CPU
  int processors = 0;  // cores, or multiprocessors
  std::size_t memory_bytes = 0;
  double bytes_per_second = 0;  // of the memory, reads plus writes
  // Floating-point operations per second of matrix products, sums in f32: operands in f32, f32 rounded to tf32, bf16, f16 and E4M3 (dense).
  double f32 = 0, tf32 = 0, bf16 = 0, f16 = 0, fp8 = 0;
};

/// When calls take slices of larger tensors (graph/slices.h) as fast as tensors of their own, and which weights they take.
struct LayoutRules {
  std::size_t alignment = 64;  // bytes, of where rows begin
  // Bytes: rows that are apart by a multiple of it share few sets of the cache (64 rows of 256 at a distance of 64 KiB: a product takes 1.3
  // times as long). 0: none.
  std::size_t worst_distance = 4096;
  bool reads_pixels_apart = false;  // convolutions, channels-last images with room between the pixels; where not, they copy them
  bool weights_channels_last = false;  // convolutions, weights that lie as (K, kernel…, C/groups)
  bool weights_in_blocks =
      false;  // convolutions and products, weights that stay from run to run: asked for any blocks, candidates() says which
};

/// The traits of a device that planning depends on.
struct DeviceTraits {
  bool queues = false;  // launches, calls and copies are queued and run in order later
  bool numbers_in_memory =
      false;  // numbers that change from run to run come from memory (pointers to rank-0 values), so that work can be recorded
  bool launches_are_dear = false;  // beside the work of a short step: fewer, larger ones are better
  bool many_instances = false;  // thousands of program instances run at once: work that a library does one by one is better split
  LayoutRules layouts = {};
};

/// A way in which a device computes a described call.
struct Candidate {
  CallDescription description =
      {};  // operands may lie otherwise or have another dtype than was asked for, an epilogue may be left to tile programs
  std::optional<double> seconds = {};  // roughly, beside those of the other candidates; without casts and copies. Nothing: not told
  bool programs_are_faster = false;  // tile programs in its place, which fuse with the ops around them
};

class TimeMark;
class Communicates;

/// The facts of a device that never change.
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
  /// Calls of allocate that had to ask the system (none, once sizes repeat), bytes in use and kept for reuse.
  virtual PoolCounters counters() const { return host_pool_counters(); }
  /// Gives all kept blocks back to the system.
  virtual void trim() { trim_host_pool(); }
};

/// The queues of a device, and the operations on all of them.
class DeviceQueues {
 public:
  virtual ~DeviceQueues() = default;
  virtual Queue& of(Use use) = 0;
  /// Waits for everything that was put into them. Throws Error when something of it failed.
  virtual void synchronize() = 0;
  /// Queues a copy of another device's memory to this one's, after all work queued so far on both. Later work on both comes
  /// after the copy, so `from` may be freed on return. Returns false, and queues nothing, if the two devices cannot copy directly or one of them is recording.
  virtual bool copy_from(void* /*to*/, Device& /*other*/, const void* /*from*/, std::size_t /*bytes*/) { return false; }
  /// A point in the device's work that tells when it was reached; null where it tells no times.
  virtual std::unique_ptr<TimeMark> time_mark();
};

/// Makes kernels of tile programs.
class ProgramCompiler {
 public:
  virtual ~ProgramCompiler() = default;
  /// The kernel of a program, which the caller keeps. Throws Error if the program uses features that the device lacks. A device may put off the work until prepare()
  /// or the first launch.
  virtual std::unique_ptr<Kernel> compile(const tile::Program& program) = 0;
  /// Begins to compile the kernels of these launches in the background. Only the alignment of a pointer
  /// matters (the power of two that divides it): a wrong guess costs time.
  virtual void request(std::span<const PlannedLaunch> /*launches*/) {}
  /// Finishes the compilation of the kernels of these launches together, for the arguments they will have.
  virtual void prepare(std::span<const PlannedLaunch> /*launches*/) {}
};

/// A machine: facts, three parts, calls, and its properties. These eight virtual functions are all of it.
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
  /// The device's exchange with others of its make, without the host; null if it has none.
  virtual Communicates* communicates() { return nullptr; }

  const DeviceFacts& facts() const { return facts_; }
  const std::string& name() const { return facts_.name; }
  int number() const { return facts_.number; }
  const DeviceTraits& traits() const { return facts_.traits; }
  const TilePreference& tiles() const { return facts_.tiles; }
  const Costs& costs() const { return facts_.costs; }

  /// True if the description, unchanged, is among its candidates.
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
  /// Copies by the queue of Use::Compute.
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

/// Error of make() for a description without a call on the device.
[[noreturn]] void throw_no_call(const Device& device, const CallDescription& description);

/// The CPU; defined in cpu/.
Device& cpu();

}  // namespace tegula::runtime
