#pragma once
// What a machine is: memory, tile programs, and a handful of library calls. cpu/ and cuda/ implement it and know no op.

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/buffer.h"
#include "tegula/core/error.h"
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

/// The first failed Assert of a launch, in an unspecified order among program instances. id is -1 while nothing failed.
struct Failure {
  std::int64_t id = -1;
  std::int64_t value = 0;
  Failure* report = nullptr;  // gets the same, for a host that cannot read this one
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

/// What may be rounded inside a product of f32 operands: nothing, or the operands to 10 bits of mantissa (tensor cores). The other dtypes
/// take no notice.
enum class Arithmetic : std::uint8_t { Full, TF32 };

enum class Activation : std::uint8_t { None, Relu, Gelu /* exact */, GeluTanh, Sigmoid, Tanh };

/// C = activation(A · B + bias), f32/f64/f16/bf16 in and out, sums in f32 (f64 for f64).
/// Layouts have the same rank >= 2: (batch…, M, K), (batch…, K, N), (batch…, M, N). Batch strides of a and b may be 0 (broadcast).
/// Of the last two strides of each of a, b and c one is 1 (or its size is 1) and the other is at least the size it spans.
/// Offsets in the layouts are ignored: buffers point at the first element.
struct Matmul {
  DType dtype = DType::f32;
  Layout a, b, c;
  bool bias = false;  // (N), dense
  Activation activation = Activation::None;
  Arithmetic arithmetic = Arithmetic::Full;
  // C is multiplied by the derivative of this at x, a tensor that lies as C does. Only where Device::prefers_gradient says so, with neither
  // bias nor activation.
  Activation gradient = Activation::None;
  bool operator==(const Matmul&) const = default;
};

/// C = A · Bᵀ * factor of A * factor of B for codes of E4M3 (graph/e4m3.h): A (M, K), B (N, K), C (M, N), the last axes dense, the others with
/// these strides in elements. Sums in f32. K, N and the strides of A and B are multiples of 16.
struct MatmulE4m3 {
  DType dtype = DType::bf16;  // of C: f32, f16 or bf16
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool operator==(const MatmulE4m3&) const = default;
};

enum class ConvolutionPass : std::uint8_t { Forward, BackwardData, BackwardWeight };

/// Cross-correlation over 1 to 3 spatial axes. input (N, C, spatial…), weight (K, C/groups, kernel…), output (N, K, spatial…):
/// the shapes are always in this order, the strides say how each lies in memory (any dense permutation; the weight is row-major
/// or, where the device wants that, channels-last). Size: (input + low + high - dilation*(kernel-1) - 1) / stride + 1.
struct Convolution {
  ConvolutionPass pass = ConvolutionPass::Forward;
  DType dtype = DType::f32;
  Layout input, weight, output;
  Dims stride, dilation, pad_low, pad_high;
  std::int64_t groups = 1;
  bool bias = false;  // Forward: (K) is added. BackwardWeight: the bias gradient (K) is a second output
  bool addend = false;  // Forward: a tensor that lies as the output does is added, before the activation (Device::fuses_addend)
  Activation activation = Activation::None;  // Forward only: None or Relu
  Arithmetic arithmetic = Arithmetic::Full;
  bool operator==(const Convolution&) const = default;
};

enum class PoolingKind : std::uint8_t {
  Max,
  AverageWithPadding /* divides by the window */,
  AverageWithoutPadding /* by the elements inside */
};

/// Pooling over the spatial axes of (N, C, spatial…); layouts as for Convolution. Padding counts as -inf for Max, 0 for averages.
/// Forward: (input) -> output, of Max also -> taps where it has them. Backward: Max (taps, output gradient) -> input gradient, without taps
/// (input, output gradient) -> input gradient; averages (output gradient) -> input gradient.
struct Pooling {
  PoolingKind kind = PoolingKind::Max;
  bool backward = false;
  DType dtype = DType::f32;
  Layout input, output;
  Dims window, stride, dilation, pad_low, pad_high;
  bool wants_values = true, wants_taps = false;  // of Max, forward: a buffer that is not wanted may be null
  Layout taps = {};  // where they lie otherwise than the output
  bool operator==(const Pooling&) const = default;

  /// A tap names the first maximum of a window (a NaN counts as maximum) by its row-major place in the window: a byte;
  /// kNoTap where all of the window is padding. Larger windows have none, and the backward pass searches the input again.
  bool has_taps() const { return kind == PoolingKind::Max && numel(window) <= kNoTap; }
  const Layout& taps_layout() const { return taps.shape.rank() == 0 ? output : taps; }
  static constexpr int kNoTap = 255;
};

/// sums[o, r, :] = Σ of source[o, k, :] over all k with index[k] == r, added in the order of k: halves in f32, rounded once; integers wrap
/// around. Rows that nobody names are zero, an index outside of [0, length) is left out. index i64 (count), source (outer, count, width),
/// sums (outer, length, width), all dense. The same bits at every run.
struct ScatterSum {
  DType dtype = DType::f32;  // any but boolean
  std::int64_t outer = 1, count = 0, length = 0, width = 1;
  bool operator==(const ScatterSum&) const = default;
};

/// A prepared library call. Thread-safe as long as each caller brings its own scratch.
class Call {
 public:
  virtual ~Call() = default;
  /// Bytes of 64-byte aligned scratch that run() needs.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// buffers: Matmul (a, b[, bias][, x], c). MatmulE4m3 (a, b, factor of a, factor of b, c), the factors f32. Convolution Forward (input, weight[, bias][, addend], output); BackwardData (output gradient, weight,
  /// input gradient); BackwardWeight (input, output gradient, weight gradient[, bias gradient]). Pooling as said there, result last.
  /// ScatterSum (index, source, sums).
  /// For Queue::run; by itself, by the device's queue of Use::Compute.
  virtual void run(std::span<void* const> buffers, void* scratch, int threads) const = 0;
  /// "brgemm:avx512_core 64x128x784", for printed plans.
  virtual std::string describe() const = 0;
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

/// What a step costs, roughly. These decide what goes first and on how many threads; no result depends on them.
struct StepCosts {
  double launch_seconds = 0;
  double bytes_per_second = 0;  // that one thread moves; of a card, all of it
  double tile_operations_per_second = 0;  // elementwise ones, of a tile program
  double call_operations_per_second = 0;  // floating-point ones, of a library call
  // Where the word thread has a meaning: a step shorter than this is not worth waking others for …
  double threads_seconds = 0;
  double awake_seconds = 0;  // … nor one shorter than this where they are awake
  double streaming_bytes = 0;  // results of a step from here on leave the caches anyway
  double loop_nodes = 0;  // a loop of at most so many nodes, those of all steps, is compiled written out: its steps fuse with each other
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "cpu", "cuda:0"
  virtual int number() const = 0;  // Buffer::device()
  virtual Ref<Buffer> allocate(std::size_t bytes) = 0;
  /// The same; `purpose` is told when memory runs out. Throws OutOfMemory.
  virtual Ref<Buffer> allocate_for(const Purpose& /*purpose*/, std::size_t bytes) { return allocate(bytes); }
  /// How often allocate had to ask the system (a steady state asks never), bytes in use and kept for reuse.
  virtual PoolCounters memory() const { return host_pool_counters(); }
  /// Gives all kept blocks back to the system.
  virtual void trim_memory() { trim_host_pool(); }
  virtual Queue& queue(Use use = Use::Compute) = 0;
  /// By the queue of Use::Compute.
  void copy_in(void* device, const void* host, std::size_t bytes);
  void copy_out(void* host, const void* device, std::size_t bytes);
  void copy(void* to, const void* from, std::size_t bytes);
  /// Waits for everything that was put into its queues. Throws Error when something of it failed.
  virtual void synchronize() = 0;

  /// True where launches, calls and copies are queued and run in order later. Numbers that change from run to run then come from memory
  /// (pointers to rank-0 values) instead of arguments, so that work can be recorded.
  virtual bool asynchronous() const { return false; }
  /// Memory that host and device both read and write at the same address; 64-byte aligned.
  virtual Ref<Buffer> allocate_shared(std::size_t bytes) { return allocate(bytes); }
  /// Remembered by the caller. Throws Error when the program uses what the device cannot do. A device may put off the work until prepare()
  /// or the first launch.
  virtual std::unique_ptr<Kernel> compile(const tile::Program& program) = 0;
  /// Begins to compile the kernels of these launches, side by side with what else there is to do. Of a pointer only counts what a multiple
  /// of it is: a guess costs time where it is wrong.
  virtual void request(std::span<const PlannedLaunch> /*launches*/) {}
  /// Finishes the compilation of the kernels of these launches together, for the arguments they will have.
  virtual void prepare(std::span<const PlannedLaunch> /*launches*/) {}
  virtual TilePreference tiles() const = 0;
  virtual StepCosts costs() const = 0;

  virtual std::unique_ptr<Call> matmul(const Matmul& description) = 0;
  /// Whether products of E4M3 codes are calls of this device; elsewhere the rounded values are multiplied in their own dtype.
  virtual bool multiplies_e4m3() const { return false; }
  virtual std::unique_ptr<Call> matmul_e4m3(const MatmulE4m3& /*description*/) { return nullptr; }
  virtual std::unique_ptr<Call> convolution(const Convolution& description) = 0;
  virtual std::unique_ptr<Call> pooling(const Pooling& description) = 0;
  virtual std::unique_ptr<Call> scatter_sum(const ScatterSum& description) = 0;
  /// Whether products of this dtype apply the activation before the result is stored. Where not, it is left to the tile programs behind it.
  virtual bool fuses(DType /*dtype*/, Activation /*activation*/) const { return true; }
  /// Whether this product with a `gradient` is faster than one without and the tile program that would multiply by it.
  virtual bool prefers_gradient(const Matmul& /*description*/) { return false; }
  /// Whether a product of so few results with so many terms each is faster as a sum of products in a tile program, which fuses with what
  /// is around it, than as a library call.
  virtual bool prefers_sums(std::int64_t /*results*/, std::int64_t /*terms*/) const { return false; }
  /// Whether a convolution of this dtype adds a whole tensor to its result before the activation.
  virtual bool fuses_addend(DType /*dtype*/) const { return false; }
  /// Whether activations of this convolution should lie channels-last (N, spatial…, C), given how those that are read lie now.
  virtual bool prefers_channels_last(const Convolution& description) const = 0;
  /// Whether the weights of those convolutions should, too: (K, kernel…, C/groups).
  virtual bool prefers_weights_channels_last() const { return false; }

  /// The most threads a step may use (1 on devices where the word has no meaning), and work below which a step should take one.
  virtual int max_threads() const = 0;

  /// May take a moment at the first call: where a maker states no rate it is measured.
  virtual DeviceProperties properties() { return {.model = name()}; }
};

/// The CPU; defined in cpu/.
Device& cpu();

}  // namespace tegula::runtime
