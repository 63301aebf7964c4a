#pragma once
// One GPU as the files of this folder see it: its context, its streams, and errors as exceptions.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/buffer.h"
#include "tegula/runtime/queue.h"
#include "tegula/simt/card.h"

namespace tegula::gpu {

class Pool;
class Progress;
class Staging;

/// The primary context of a device and the streams on which everything is queued. Lives as long as the process.
struct Context {
  CUdevice device = 0;
  CUcontext context = nullptr;
  int index = 0;                // cuda:index
  Card card;
  std::size_t memory_bytes = 0;
  std::size_t shared_bytes = 0; // the most a block can have
  std::string name;             // "NVIDIA H200"

  Pool* pool = nullptr;         // device memory
  Staging* staging = nullptr;   // copies from the host
  Progress* progress = nullptr; // once the device has joined others; set under `order`
  /// Held by the thread that puts work on a stream, and during a whole recording, so that no other thread's work gets into it. Library calls
  /// (runtime::Call::run) hold it already.
  mutable std::recursive_mutex order;

  /// Makes the context current on this thread. Cheap when it is already.
  void enter() const;
  /// The stream of this use; opened at the first call.
  CUstream stream_of(runtime::Use use) const;
  /// The use for which this thread queues work: that of its Feeding, otherwise Use::Compute.
  runtime::Use use() const;
  /// The stream on which this thread queues work: its recording (Capture) if it has one, otherwise the stream of use(). The caller has entered.
  CUstream stream() const;
  /// Makes stream() wait for the work on the stream of this use.
  void follow(runtime::Use use) const;
  /// Makes the stream of Use::Compute wait for the work on the others.
  void join() const;
  /// Waits for the work on stream(), without keeping others from queueing more. Failed work is reported with the names of the
  /// kernels that were queued last, host turns with their exceptions. `op` is the caller's name.
  void synchronize(std::string_view op) const;
  /// The same for all streams.
  void synchronize_all(std::string_view op) const;
  /// Waits for all streams, and reports nothing: for destructors, perhaps after the driver's end. Not while this thread is recording.
  void drain() const noexcept;
  /// Remembers the name of a queued kernel, which lives as long as the process. TEGULA_CUDA_SYNC=1 waits for each.
  void queued(const char* kernel);
  /// Stores the exception of a host turn, which the next synchronize() rethrows. Needs nothing of the driver.
  void host_failed(std::exception_ptr failure) const;
  /// runtime::Communicates.
  void confirm_by(std::function<void()> confirm);
  std::string device_name() const { return "cuda:" + std::to_string(index); }
  /// The tuning file's section for choices that do not depend on the libraries' versions.
  std::string own_section() const { return name + ", Tegula"; }

 private:
  friend class Feeding;
  friend class BriefEvent;
  std::string queued_last() const;

  std::array<const char*, 8> recent_{};  // a ring
  unsigned count_ = 0;
  mutable std::array<CUstream, 3> streams_{};  // all protected by `order`
  mutable std::vector<CUevent> idle_events_;
  mutable std::mutex events_;  // protects idle_events_
  mutable std::mutex failing_;
  mutable std::exception_ptr host_failure_;
  std::function<void()> confirm_;  // both protected by failing_
};

/// While it lives, this thread's work for the device goes onto the stream of this use.
class Feeding {
 public:
  Feeding(const Context& context, runtime::Use use);
  ~Feeding();
  Feeding(const Feeding&) = delete;
  Feeding& operator=(const Feeding&) = delete;

 private:
  friend struct Context;
  const Context& context_;
  runtime::Use use_;
  Feeding* outer_;
};

/// An event without timing, borrowed while this object lives. A stream that waits for it waits for its state at that moment, so the event may be recorded again.
class BriefEvent {
 public:
  BriefEvent(const Context& context, std::string_view op);
  ~BriefEvent();
  BriefEvent(const BriefEvent&) = delete;
  BriefEvent& operator=(const BriefEvent&) = delete;
  CUevent get() const { return event_; }

 private:
  const Context& context_;
  CUevent event_ = nullptr;
};

/// Throws Error("<op>: got CUDA_ERROR_…, …") unless `result` is CUDA_SUCCESS. `op` names the attempt, in the user's words.
void check(CUresult result, std::string_view op);

/// True if this error has made the context unusable: every further call returns it again.
bool is_sticky(CUresult result);

/// Device memory from the caching pool of `context`, for work on Context::stream(). In the order of Use::Compute: freed memory may be allocated again at
/// once, so a user on another stream must wait for that work, or make Use::Compute wait, before freeing it.
Ref<Buffer> allocate(const Context& context, std::size_t bytes);

}  // namespace tegula::gpu
