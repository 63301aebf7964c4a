#pragma once
// Work that is captured once as a CUDA graph and replayed.

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// Captures what `work` puts on Context::stream(). Null, with nothing queued, when something of it cannot be captured (a library call that waits
/// for the device) or when this thread is recording already; exceptions of `work` pass through.
///
/// The capture is in relaxed mode: memory may be allocated and modules loaded meanwhile.
std::unique_ptr<runtime::Recording> record(Context& context, const std::function<void()>& work);

/// The same for steps that wait only for the ones they name: the graph may run the others side by side.
std::unique_ptr<runtime::Recording> record(Context& context, std::span<const runtime::RecordedStep> steps);

/// Used by both: `finish` may change the graph before it is made executable, and returns the flags for that.
std::unique_ptr<runtime::Recording> recorded(Context& context, const std::function<void()>& work,
                                             const std::function<unsigned long long(CUgraph)>& finish);

/// A recording in progress, and the objects that it keeps alive.
class Capture {
 public:
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// This thread's recording on this device, or null.
  static Capture* current(const Context& context);
  CUstream stream() const { return stream_; }

  /// Memory that was taken within the recording belongs to it: every replay uses the same addresses.
  void keep(Ref<Buffer> buffer) { kept_.push_back(std::move(buffer)); }
  /// Called ahead of every replay, on the thread that queues it.
  void ahead_of_replays(std::function<void()> first) { first_.push_back(std::move(first)); }
  /// Device memory that holds these bytes at every replay. They travel once, after the capture.
  void* constant(std::span<const std::byte> bytes);
  /// The kernel captured last waits for the one ahead of it by itself (Generated::early): it may begin while that one runs.
  void waits_itself();

 private:
  friend std::unique_ptr<runtime::Recording> recorded(Context& context, const std::function<void()>& work,
                                                      const std::function<unsigned long long(CUgraph)>& finish);
  friend void require_no_recording(const Context& context, std::string_view op);
  struct Constant {
    Ref<Buffer> buffer;
    std::vector<std::byte> bytes;
  };
  explicit Capture(Context& context);
  ~Capture();
  /// The graph, or null when something could not be captured.
  CUgraph end();

  Context& context_;
  CUstream stream_;
  Capture* outer_;  // this thread's recording on another device
  bool open_ = false;  // the stream is capturing
  bool refused_ = false;  // a thread had to wait for the device
  std::vector<Ref<Buffer>> kept_;
  std::vector<Constant> constants_;
  std::vector<std::function<void()>> first_;
  std::vector<CUgraphNode> early_;
};

/// Throws Error when this thread is recording: `op` waits for the device, which is not possible then. record() gives null.
void require_no_recording(const Context& context, std::string_view op);

}  // namespace tegula::gpu
