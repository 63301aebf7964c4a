#include "tegula/cuda/driver/context.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/cuda/driver/progress.h"
#include "tegula/cuda/driver/recording.h"

namespace tegula::gpu {
namespace {

std::string describe(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) return "CUDA error " + std::to_string(result);
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text) return name;
  return std::string(name) + " (" + text + ")";
}

std::string advice_for(CUresult result) {
  if (is_sticky(result)) {
    return "a kernel that was queued earlier failed and the GPU cannot be used any more by this process; run again with TEGULA_CUDA_SYNC=1 "
           "to see which";
  }
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY: return "use a smaller batch, or release tensors that are no longer needed";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return "the driver is older than the toolkit that compiled the kernel: update the driver";
    case CUDA_ERROR_DEINITIALIZED: return "the program is ending: CUDA has shut down";
    default: return "";
  }
}

[[noreturn]] void fail(CUresult result, std::string_view op, const std::string& after) {
  throw Error({.op = std::string(op), .got = describe(result) + after, .advice = advice_for(result)});
}

bool waits_for_each_kernel() {
  static const bool value = [] {
    const char* text = std::getenv("TEGULA_CUDA_SYNC");
    return text && *text && std::string_view(text) != "0";
  }();
  return value;
}

Feeding*& innermost() {
  thread_local Feeding* feeding = nullptr;
  return feeding;
}

}  // namespace

bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED: return true;
    default: return false;
  }
}

void check(CUresult result, std::string_view op) {
  if (result != CUDA_SUCCESS) fail(result, op, "");
}

void Context::enter() const {
  CUcontext current = nullptr;
  if (cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context) return;
  check(cuCtxSetCurrent(context), device_name());
}

CUstream Context::stream_of(runtime::Use use) const {
  const std::scoped_lock lock(order);
  CUstream& stream = streams_[static_cast<std::size_t>(use)];
  if (!stream) {
    enter();
    check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "opening a queue of " + device_name());
  }
  return stream;
}

runtime::Use Context::use() const {
  for (const Feeding* feeding = innermost(); feeding; feeding = feeding->outer_)
    if (&feeding->context_ == this) return feeding->use_;
  return runtime::Use::Compute;
}

CUstream Context::stream() const {
  const Capture* const capture = Capture::current(*this);
  return capture ? capture->stream() : stream_of(use());
}

Feeding::Feeding(const Context& context, runtime::Use use) : context_(context), use_(use), outer_(innermost()) {
  const std::scoped_lock lock(context.order);
  context.enter();
  context.stream_of(use);
  innermost() = this;
}
Feeding::~Feeding() { innermost() = outer_; }

BriefEvent::BriefEvent(const Context& context, std::string_view op) : context_(context) {
  {
    const std::scoped_lock lock(context.events_);
    if (!context.idle_events_.empty()) {
      event_ = context.idle_events_.back();
      context.idle_events_.pop_back();
      return;
    }
  }
  context.enter();
  check(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), op);
}

BriefEvent::~BriefEvent() {
  const std::scoped_lock lock(context_.events_);
  context_.idle_events_.push_back(event_);
}

void Context::follow(runtime::Use use) const {
  constexpr const char* op = "joining queues";
  const std::scoped_lock lock(order);
  enter();
  const CUstream ahead = stream_of(use), behind = stream();
  if (ahead == behind) return;
  const BriefEvent event(*this, op);
  check(cuEventRecord(event.get(), ahead), op);
  check(cuStreamWaitEvent(behind, event.get(), CU_EVENT_WAIT_DEFAULT), op);
}

void Context::join() const {
  const std::scoped_lock lock(order);
  const Feeding compute(*this, runtime::Use::Compute);
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (streams_[i]) follow(static_cast<runtime::Use>(i));
}

void Context::synchronize_all(std::string_view op) const {
  require_no_recording(*this, op);
  join();
  const Feeding compute(*this, runtime::Use::Compute);
  synchronize(op);
}

void Context::drain() const noexcept {
  const std::scoped_lock lock(order);
  if (cuCtxSetCurrent(context) != CUDA_SUCCESS || Capture::current(*this)) return;
  for (CUstream stream : streams_)
    if (stream) cuStreamSynchronize(stream);
}

void Context::synchronize(std::string_view op) const {
  require_no_recording(*this, op);
  std::optional<BriefEvent> reached;
  {
    const std::scoped_lock lock(order);
    enter();
    reached.emplace(*this, op);
    if (const CUresult result = cuEventRecord(reached->get(), stream()); result != CUDA_SUCCESS) fail(result, op, queued_last());
    if (progress) progress->mark();
  }
  if (const CUresult result = cuEventSynchronize(reached->get()); result != CUDA_SUCCESS) {
    const std::scoped_lock lock(order);
    fail(result, op, queued_last());
  }
  std::exception_ptr failure;
  std::function<void()> confirm;
  {
    const std::scoped_lock lock(failing_);
    failure = std::exchange(host_failure_, nullptr);
    confirm = confirm_;
  }
  if (failure) std::rethrow_exception(failure);
  if (confirm) confirm();
}

void Context::confirm_by(std::function<void()> confirm) {
  const std::scoped_lock lock(failing_);
  confirm_ = std::move(confirm);
}

void Context::host_failed(std::exception_ptr failure) const {
  const std::scoped_lock lock(failing_);
  if (!host_failure_) host_failure_ = std::move(failure);
}

std::string Context::queued_last() const {
  std::string names;
  constexpr unsigned kept = std::tuple_size_v<decltype(recent_)>;
  for (unsigned i = std::max(count_, kept) - kept; i < count_; ++i) {
    names += (names.empty() ? "; queued last: " : ", ") + std::string(recent_[i % kept]);
  }
  return names;
}

void Context::queued(const char* kernel) {
  recent_[count_++ % recent_.size()] = kernel;
  if (waits_for_each_kernel() && !Capture::current(*this)) synchronize(kernel);
}

}  // namespace tegula::gpu
