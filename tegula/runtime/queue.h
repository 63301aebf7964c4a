#pragma once
// The queues of a device: work in one queue runs in order, work in different ones may run concurrently except for events between them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tegula::runtime {

class Call;
class Device;
class Kernel;
struct ArgumentSet;
struct LaunchOptions;
struct RunOptions;

/// The purpose of a queue. Plans compute in Compute, and memory is allocated and freed in its order: work on another queue that uses memory must wait for Compute first,
/// and Compute for that work before the memory is freed.
enum class Use : std::uint8_t { Compute, Copy, Exchange };

/// A point in the work of a queue, reached when all earlier work is over. A default-constructed one is reached.
class Event {
 public:
  class Point {
   public:
    virtual ~Point() = default;
    virtual bool reached() const = 0;
    /// The host waits. Throws Error where the device is lost; what else failed on the way is told by Queue::synchronize().
    virtual void wait() const = 0;
  };
  Event() = default;
  explicit Event(std::shared_ptr<const Point> point) : point_(std::move(point)) {}
  bool reached() const { return !point_ || point_->reached(); }
  void wait() const {
    if (point_) point_->wait();
  }
  const std::shared_ptr<const Point>& point() const { return point_; }

 private:
  std::shared_ptr<const Point> point_;
};

/// A piece of work to be recorded, and the earlier pieces it must wait for (numbers in the same list).
struct RecordedStep {
  std::function<void()> work;
  std::vector<int> after;
  std::span<const std::byte> own = {};  // memory that no other step touches: what sets it beforehand need not wait for other steps
  bool urgent = false;  // goes ahead of others that could run at the same time
};

/// Work that was recorded once and is repeated as a whole, at the same addresses (a CUDA graph).
class Recording {
 public:
  virtual ~Recording() = default;
  /// Put like a launch into the queue that recorded it.
  virtual void replay() = 0;
};

class Queue {  // any thread may put work in: a launch, a call, a copy stays whole, a recording keeps others out
 public:
  Queue(Device& device, Use use) : device_(device), use_(use) {}
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  Device& device() const { return device_; }
  Use use() const { return use_; }

  /// Run kernels and calls of the device. A call may be in one queue at a time; before it goes into another, that queue must wait for an event after it.
  virtual void launch(const Kernel& kernel, std::span<const ArgumentSet> sets, const LaunchOptions& options) = 0;
  virtual void run(const Call& call, std::span<void* const> buffers, const RunOptions& options) = 0;
  /// Host memory may be reused when copy_in returns; copy_out waits until the bytes are there.
  virtual void copy_in(void* device, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, const void* device, std::size_t bytes) = 0;
  /// Within the device.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;

  /// The point behind all that has been put in.
  virtual Event mark() = 0;
  /// Makes all later work of this queue wait for the event, of any queue and device; the host does not wait if the device can.
  virtual void wait(const Event& event) = 0;
  /// The host waits for all that has been put in. Throws Error when something of it failed.
  virtual void synchronize() = 0;

  /// Records what `work` puts in, into whichever queue, instead of running it: all of it becomes work of this one, and marks within it mean nothing. Null where
  /// that is not possible, as where it waits for an event from outside: then nothing was put in.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& /*work*/) { return nullptr; }
  /// The same for steps of which some may run side by side.
  virtual std::unique_ptr<Recording> record(std::span<const RecordedStep> steps);

 private:
  Device& device_;
  Use use_;
};

/// The queue of a device whose work is finished when the function returns.
class ImmediateQueue final : public Queue {
 public:
  using Queue::Queue;
  void launch(const Kernel& kernel, std::span<const ArgumentSet> sets, const LaunchOptions& options) override;
  void run(const Call& call, std::span<void* const> buffers, const RunOptions& options) override;
  void copy_in(void* device, const void* host, std::size_t bytes) override { copy(device, host, bytes); }
  void copy_out(void* host, const void* device, std::size_t bytes) override { copy(host, device, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override;
  Event mark() override { return {}; }
  void wait(const Event& event) override { event.wait(); }
  void synchronize() override {}
};

/// One for each use, made when the device is. `Kind` is made of the device, the use and `arguments`.
template <class Kind>
class QueuesOf {
 public:
  template <class... Arguments>
  explicit QueuesOf(Device& device, Arguments&... arguments)
      : all_{Kind(device, Use::Compute, arguments...), Kind(device, Use::Copy, arguments...), Kind(device, Use::Exchange, arguments...)} {}
  Kind& operator[](Use use) { return all_[static_cast<std::size_t>(use)]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }

 private:
  std::array<Kind, 3> all_;
};

}  // namespace tegula::runtime
