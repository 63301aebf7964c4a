#include <atomic>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "hwy/cache_control.h"

#include "tegula/core/error.h"
#include "tegula/cpu/executor/executor.h"
#include "tegula/cpu/executor/executor_code.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

/// Memory of one thread for the slots and the scratch of whatever kernel it runs; grows and stays.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { std::free(data_); }

  std::byte* reserve(std::size_t bytes) {
    if (bytes > bytes_) {
      std::free(data_);
      data_ = nullptr, bytes_ = 0, owner_ = 0;
      const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
      data_ = static_cast<std::byte*>(std::aligned_alloc(64, rounded));
      if (data_ == nullptr) throw std::bad_alloc();
      bytes_ = rounded;
    }
    return data_;
  }
  /// Takes the slots for a kernel; true if they were last filled for another one.
  bool take(std::uint64_t kernel) { return std::exchange(owner_, kernel) != kernel; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t owner_ = 0;
};

thread_local Arena arena;

std::atomic<std::uint64_t> next_kernel{1};

class TileKernel final : public runtime::Kernel {
 public:
  TileKernel(const tile::Program& program, const ExecutorOptions& options)
      : parameters_(program.parameters),
        code_(compile_code(program, {options.in_place, options.strip})),
        number_(next_kernel++) {
    slot_bytes_ = (code_.slots.size() * sizeof(Slot) + 63) / 64 * 64 + 64;
  }

  void launch(std::span<const runtime::ArgumentSet> sets, const runtime::LaunchOptions& options) const override {
    std::int64_t instances = 0;
    for (const runtime::ArgumentSet& set : sets) instances += count(set);
    if (instances == 0) return;
    Launch launch;
    launch.failure = options.failure;
    launch.streaming = options.streaming;
    constexpr std::int64_t kCached = 4 << 20;  // bytes that are likely to be in the second-level caches
    launch.prefetch = options.streaming || instances * code_.load_bytes > kCached;
    const std::int64_t most = code_.in_order ? 1 : instances;
    parallel(static_cast<int>(std::min<std::int64_t>(options.threads, most)), [&](int thread, int threads) {
      const Range mine = share(instances, thread, threads);
      run(sets, mine, launch);
    });
  }

  std::string listing() const override { return code_.text; }

 private:
  static std::int64_t count(const runtime::ArgumentSet& set) {
    return std::max<std::int64_t>(set.grid[0], 0) * std::max<std::int64_t>(set.grid[1], 0) * std::max<std::int64_t>(set.grid[2], 0);
  }

  /// Instances [range.begin, range.end) of all sets in a row.
  void run(std::span<const runtime::ArgumentSet> sets, Range range, Launch& launch) const {
    std::byte* memory = arena.reserve(slot_bytes_ + code_.scratch_bytes);
    Frame frame{.slots = reinterpret_cast<Slot*>(memory), .launch = &launch, .lines_per_step = code_.lines_per_step};
    if (arena.take(number_)) fill_slots(frame.slots, memory + slot_bytes_);
    std::int64_t passed = 0;
    for (const runtime::ArgumentSet& set : sets) {
      const std::int64_t here = count(set);
      const std::int64_t begin = std::max(range.begin - passed, std::int64_t{0}), end = std::min(range.end - passed, here);
      passed += here;
      if (begin >= end) continue;
      bind(set, frame.slots);
      run_steps(reinterpret_cast<const Step*>(code_.prologue.data()), frame);
      run_instances(set, begin, end, frame);
      if (passed >= range.end) break;
    }
    if (launch.streaming) hwy::FlushStream();
  }

  void run_instances(const runtime::ArgumentSet& set, std::int64_t begin, std::int64_t end, Frame& frame) const {
    std::array<std::int64_t, 3> id{begin % set.grid[0], begin / set.grid[0] % set.grid[1], begin / set.grid[0] / set.grid[1]};
    const auto* start = reinterpret_cast<const Step*>(code_.instance.data());
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (code_.program_id[axis] >= 0) frame.slots[code_.program_id[axis]].integer = id[axis];
      }
      run_steps(start, frame);
      if (frame.launch->failed.load(std::memory_order_relaxed)) return;
      if (++id[0] == set.grid[0]) {
        id[0] = 0;
        if (++id[1] == set.grid[1]) id[1] = 0, ++id[2];
      }
    }
  }

  void fill_slots(Slot* slots, std::byte* scratch) const {
    std::copy(code_.slots.begin(), code_.slots.end(), slots);
    for (const auto& [slot, target] : code_.own_addresses) slots[slot].pointer = reinterpret_cast<std::byte*>(slots + target);
    for (const auto& [slot, offset] : code_.scratch_addresses) slots[slot].pointer = scratch + offset;
  }

  void bind(const runtime::ArgumentSet& set, Slot* slots) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (code_.parameters[i] < 0) continue;
      Slot& slot = slots[code_.parameters[i]];
      const runtime::Argument& argument = set.arguments[i];
      const tile::Parameter& parameter = parameters_[i];
      if (parameter.pointer) slot.pointer = static_cast<std::byte*>(argument.pointer);
      else if (parameter.dtype == DType::f32) slot.f32 = static_cast<float>(argument.real);
      else if (parameter.dtype == DType::f64) slot.f64 = argument.real;
      else if (parameter.dtype == DType::i32) slot.integer = static_cast<std::int32_t>(argument.integer);
      else if (parameter.dtype == DType::u32) slot.integer = static_cast<std::uint32_t>(argument.integer);
      else if (parameter.dtype == DType::boolean) slot.integer = argument.integer != 0;
      else slot.integer = argument.integer;
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (code_.num_programs[axis] >= 0) slots[code_.num_programs[axis]].integer = set.grid[axis];
    }
  }

  std::vector<tile::Parameter> parameters_;
  Code code_;
  std::uint64_t number_;
  std::size_t slot_bytes_ = 0;
};

}  // namespace

std::unique_ptr<runtime::Kernel> compile_program(const tile::Program& program, const ExecutorOptions& options) {
  return std::make_unique<TileKernel>(program, options);
}

}  // namespace tegula::host
