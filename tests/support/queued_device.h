#pragma once
// A device that queues its work as a GPU does, with memory of its own, on top of the CPU's kernels: what tests the parts of the compiler
// that only an asynchronous device uses, where there is no GPU.

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "tegula/runtime/device.h"
#include "tegula/runtime/time_marks.h"
#include "tegula/runtime/timeline.h"

namespace tegula::test {

class QueuedDevice : public runtime::Device, public runtime::DeviceMemory, public runtime::DeviceQueues, public runtime::ProgramCompiler {
 public:
  using Work = std::function<void()>;

  /// A new one that is never destroyed: kernels, plans and tensors of static objects, which may use it, outlive main. Each has a number of its own,
  /// since kernels are kept by the device's number and queue where they were made.
  static QueuedDevice& create();

  /// Counted by all threads that use the device; a copy is a number.
  class Count {
   public:
    Count() = default;
    Count(const Count& other) : count_(other.count_.load()) {}
    Count& operator=(const Count&) = delete;
    int operator++(int) { return count_++; }
    operator int() const { return count_; }

   private:
    std::atomic<int> count_{0};
  };
  struct Counters {
    Count launches, calls, copies, uploads, recordings, replays, allocations;
    Count beside;  // calls that were put into the queue for exchanges
    Count foreseen, unforeseen;  // kernels that were needed as they had been requested, or not
  } counters;

  std::function<std::unique_ptr<runtime::Kernel>(const tile::Program&)> make_kernel;
  /// Its facts, for tests that want others.
  runtime::TilePreference& preference = facts_.tiles;
  runtime::Costs& table = facts_.costs;

  // Its parts: the device itself is all three.
  runtime::DeviceMemory& pool() override { return *this; }
  runtime::DeviceQueues& queues() override { return *this; }
  runtime::ProgramCompiler& compiler() override { return *this; }

  Ref<Buffer> allocate(std::size_t bytes, const runtime::Purpose& = {}) override;
  runtime::Queue& of(runtime::Use use) override { return lanes_[use]; }
  /// Runs the queued pieces one after another, in an order drawn among those that need not wait for an event.
  void synchronize() override;
  Ref<Buffer> allocate_shared(std::size_t bytes) override;

  std::unique_ptr<runtime::Kernel> compile(const tile::Program& program) override;
  void request(std::span<const runtime::PlannedLaunch> launches) override;
  void prepare(std::span<const runtime::PlannedLaunch> launches) override;
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override;
  std::unique_ptr<runtime::Call> make(const runtime::CallDescription& d) override;
  std::unique_ptr<runtime::TimeMark> time_mark() override;

 protected:
  QueuedDevice();
  /// A kernel whose launches are queued, and the one underneath.
  std::unique_ptr<runtime::Kernel> queued(std::unique_ptr<runtime::Kernel> kernel, const tile::Program& program);
  /// A call whose runs are queued.
  std::unique_ptr<runtime::Call> wrap(std::unique_ptr<runtime::Call> call);
  /// While this thread records: makes `first` run before every replay.
  bool ahead_of_replays_here(Work first);
  static const runtime::Kernel& underneath(const runtime::Kernel& kernel);

 private:
  /// The facts that a kernel's code may depend on: for a pointer, whether it is a multiple of 64.
  using Needs = std::tuple<const runtime::Kernel*, bool, std::vector<std::int64_t>>;
  static Needs needs(const runtime::PlannedLaunch& launch);

  struct Point;
  /// Work, or the wait for a point.
  struct Piece {
    Work work;
    std::shared_ptr<const Point> until = {};
  };

  class Lane final : public runtime::Queue {
   public:
    Lane(runtime::Device& device, runtime::Use use, QueuedDevice& same) : Queue(device, use), device_(same) {}
    void launch(const runtime::Kernel& kernel, std::span<const runtime::ArgumentSet> sets, const runtime::LaunchOptions& options) override;
    void run(const runtime::Call& call, std::span<void* const> buffers, const runtime::RunOptions& options) override;
    void copy_in(void* device, const void* host, std::size_t bytes) override;
    void copy_out(void* host, const void* device, std::size_t bytes) override;
    void copy(void* to, const void* from, std::size_t bytes) override;
    runtime::Event mark() override;
    void wait(const runtime::Event& event) override;
    void synchronize() override;

    std::unique_ptr<runtime::Recording> record(const Work& work) override;
    /// Replays the steps in another order than they were given, as far as they do not wait for each other.
    std::unique_ptr<runtime::Recording> record(std::span<const runtime::RecordedStep> steps) override;

    void put(Piece piece);
    /// The lane of this thread's launches and calls.
    static Lane& current(QueuedDevice& device);

    std::list<Piece> pieces;  // protected by the device's mutex_

   private:
    struct Fed;
    static Fed*& innermost();
    struct Replays;

    QueuedDevice& device_;
  };

  class Memory;
  class QueuedKernel;
  class QueuedCall;
  class QueuedTurn;
  class Mark;

  void submit(Work work);
  bool records_here() const;
  void begin_recording(std::list<Work>& all, std::vector<Work>& first);
  void end_recording();

  static int next_number();

  std::set<Needs> requested_;
  runtime::QueuesOf<Lane> lanes_{*this, *this};
  std::minstd_rand draw_;  // protected by running_
  std::list<Work>* recording_ = nullptr;
  std::vector<Work>* first_ = nullptr;  // of the recording
  std::thread::id recorder_;  // the thread whose work is recorded
  std::recursive_mutex running_;  // held by the thread that runs queued work, which may queue more
  mutable std::recursive_mutex mutex_;  // protects the queues: other threads may add to them meanwhile, for example when they free memory
};

}  // namespace tegula::test
