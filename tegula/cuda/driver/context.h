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
  /// Held by whoever puts work on a stream, and during a whole recording, so that nobody else's work gets into it. Library calls
  /// (runtime::Call::run) hold it already.
  mutable std::recursive_mutex order;

  /// Makes the context current on this thread. Cheap when it is already.
  void enter() const;
  /// That of this use; opened when it is first asked for.
  CUstream stream_of(runtime::Use use) const;
  /// What this thread's work is put in for: that of its Feeding, else Use::Compute.
  runtime::Use use() const;
  /// Where it is put: where this thread records (Capture), else on the stream of use(). The caller has entered.
  CUstream stream() const;
  /// Lets stream() wait for what is on that of this use.
  void follow(runtime::Use use) const;
  /// Lets that of Use::Compute wait for what is on the others.
  void join() const;
  /// Waits for what is on stream(), without keeping others from queueing more. Work that failed is reported with the names of the
  /// kernels that were queued last, the host's turns by what they threw. `op` names who waits.
  void synchronize(std::string_view op) const;
  /// The same for all streams.
  void synchronize_all(std::string_view op) const;
  /// Waits for all streams, and tells nothing: for what ends, perhaps after the driver. Not while this thread is recording.
  void drain() const noexcept;
  /// Remembers the name of a queued kernel, which lives as long as the process. TEGULA_CUDA_SYNC=1 waits for each.
  void queued(const char* kernel);
  /// What a turn of the host threw: the next synchronize() throws it. Needs nothing of the driver.
  void host_failed(std::exception_ptr failure) const;
  /// runtime::Communicates.
  void confirm_by(std::function<void()> confirm);
  std::string device_name() const { return "cuda:" + std::to_string(index); }
  /// Of the tuning file: choices that hold whatever libraries there are.
  std::string own_section() const { return name + ", Tegula"; }

 private:
  friend class Feeding;
  friend class BriefEvent;
  std::string queued_last() const;

  std::array<const char*, 8> recent_{};  // a ring
  unsigned count_ = 0;
  mutable std::array<CUstream, 3> streams_{};  // all guarded by `order`
  mutable std::vector<CUevent> idle_events_;
  mutable std::mutex events_;  // of these
  mutable std::mutex failing_;
  mutable std::exception_ptr host_failure_;
  std::function<void()> confirm_;  // both guarded by failing_
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

/// An event without a time, lent while it lives. Who waits for it on a stream waits for what it was then: it may be recorded anew.
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

/// Throws Error("<op>: got CUDA_ERROR_…, …") unless `result` is CUDA_SUCCESS. `op` names what was tried, in the user's words.
void check(CUresult result, std::string_view op);

/// Whether this error has made the context useless: every further call gives it again.
bool is_sticky(CUresult result);

/// Device memory from the caching pool of `context`, for what is put on Context::stream(). In the order of Use::Compute: freed memory may be handed out again at
/// once, so who uses it on another stream waits for that, or lets that of Use::Compute wait, before it is given back.
Ref<Buffer> allocate(const Context& context, std::size_t bytes);

}  // namespace tegula::gpu
