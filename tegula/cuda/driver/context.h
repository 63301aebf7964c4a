#pragma once
// One GPU as the files of this folder see it: its context, its stream, and errors as exceptions.

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
#include "tegula/simt/card.h"

namespace tegula::gpu {

class Pool;
class Progress;
class Staging;

/// The primary context of a device and the stream on which everything is queued. Lives as long as the process.
struct Context {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  int index = 0;                // cuda:index
  Card card;
  std::size_t memory_bytes = 0;
  std::size_t shared_bytes = 0; // the most a block can have
  std::string name;             // "NVIDIA H200"

  Pool* pool = nullptr;         // device memory
  Staging* staging = nullptr;   // copies from the host
  Progress* progress = nullptr; // once the device has joined others; set under `order`
  /// Held by whoever puts work on the stream, and during a whole recording, so that nobody else's work gets into it. Library calls
  /// (runtime::Call::run) hold it already.
  mutable std::recursive_mutex order;

  /// Makes the context current on this thread. Cheap when it is already.
  void enter() const;
  /// Waits for what is on the stream, without keeping others from queueing more. Work that failed is reported with the names of the
  /// kernels that were queued last, the host's turns by what they threw. `op` names who waits.
  void synchronize(std::string_view op) const;
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
  std::string queued_last() const;

  std::array<const char*, 8> recent_{};  // a ring
  unsigned count_ = 0;
  mutable std::vector<CUevent> idle_events_;  // all three guarded by `order`
  mutable std::mutex failing_;
  mutable std::exception_ptr host_failure_;
  std::function<void()> confirm_;  // both guarded by failing_
};

/// Throws Error("<op>: got CUDA_ERROR_…, …") unless `result` is CUDA_SUCCESS. `op` names what was tried, in the user's words.
void check(CUresult result, std::string_view op);

/// Whether this error has made the context useless: every further call gives it again.
bool is_sticky(CUresult result);

/// Device memory from the caching pool of `context`. In stream order: freed memory may be handed out again at once.
Ref<Buffer> allocate(Context& context, std::size_t bytes);

}  // namespace tegula::gpu
