#include "tegula/cuda/driver/queue.h"

#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/recording.h"

namespace tegula::gpu {
namespace {

constexpr const char* kOp = "an event";

class EventPoint final : public runtime::Event::Point {
 public:
  /// After the work on the stream. The caller holds Context::order.
  explicit EventPoint(const Context& context) : context_(context), event_(context, kOp) {
    check(cuEventRecord(event_.get(), context.stream()), kOp);
  }
  bool reached() const override {
    context_.enter();
    const CUresult result = cuEventQuery(event_.get());
    if (result != CUDA_ERROR_NOT_READY) check(result, kOp);
    return result == CUDA_SUCCESS;
  }
  void wait() const override {
    context_.enter();
    check(cuEventSynchronize(event_.get()), kOp);
  }
  CUevent event() const { return event_.get(); }

 private:
  const Context& context_;
  BriefEvent event_;
};

}  // namespace

void CudaQueue::launch(const runtime::Kernel& kernel, std::span<const runtime::ArgumentSet> sets, const runtime::LaunchOptions& options) {
  const Feeding feeding(context_, use());
  kernel.launch(sets, options);
}

void CudaQueue::run(const runtime::Call& call, std::span<void* const> buffers, const runtime::RunOptions& options) {
  const Feeding feeding(context_, use());
  call.run(buffers, options);
}

void CudaQueue::copy_in(void* device, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  if (Capture* capture = Capture::current(context_)) {
    copy(device, capture->constant({static_cast<const std::byte*>(host), bytes}), bytes);
    return;
  }
  const std::scoped_lock lock(context_.order);
  const Feeding feeding(context_, use());
  context_.staging->copy_in(device_pointer(device), host, bytes);
}

void CudaQueue::copy_out(void* host, const void* device, std::size_t bytes) {
  const Feeding feeding(context_, use());
  gpu::copy_out(context_, host, device_pointer(device), bytes);
}

void CudaQueue::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const std::scoped_lock lock(context_.order);
  const Feeding feeding(context_, use());
  check(cuMemcpyDtoDAsync(device_pointer(to), device_pointer(from), bytes, context_.stream()), "copying on the device");
}

runtime::Event CudaQueue::mark() {
  if (Capture::current(context_)) return {};
  const std::scoped_lock lock(context_.order);
  const Feeding feeding(context_, use());
  return runtime::Event(std::make_shared<EventPoint>(context_));
}

void CudaQueue::wait(const runtime::Event& event) {
  if (!event.point()) return;
  require_no_recording(context_, "waiting for an event");
  const auto* const point = dynamic_cast<const EventPoint*>(event.point().get());
  if (!point) return event.wait();
  const std::scoped_lock lock(context_.order);
  const Feeding feeding(context_, use());
  check(cuStreamWaitEvent(context_.stream(), point->event(), CU_EVENT_WAIT_DEFAULT), kOp);
}

void CudaQueue::synchronize() {
  const Feeding feeding(context_, use());
  context_.synchronize(context_.device_name());
}

std::unique_ptr<runtime::Recording> CudaQueue::record(const std::function<void()>& work) {
  const Feeding feeding(context_, use());
  return gpu::record(context_, work);
}

std::unique_ptr<runtime::Recording> CudaQueue::record(std::span<const runtime::RecordedStep> steps) {
  const Feeding feeding(context_, use());
  return gpu::record(context_, steps);
}

}  // namespace tegula::gpu
