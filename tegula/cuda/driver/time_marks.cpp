#include "tegula/cuda/driver/time_marks.h"

#include <cmath>

#include "tegula/cuda/driver/recording.h"

namespace tegula::gpu {
namespace {

constexpr const char* kOp = "marking times";

class EventMark final : public runtime::TimeMark {
 public:
  explicit EventMark(Context& context) : context_(context) {
    const std::scoped_lock lock(context_.order);
    context_.enter();
    check(cuEventCreate(&event_, CU_EVENT_DEFAULT), kOp);
  }
  EventMark(const EventMark&) = delete;
  EventMark& operator=(const EventMark&) = delete;
  /// May be called after the driver has shut down.
  ~EventMark() override {
    const std::scoped_lock lock(context_.order);
    if (cuCtxSetCurrent(context_.context) == CUDA_SUCCESS) cuEventDestroy(event_);
  }

  /// Otherwise an event of a capture would be no node of the graph, only a dependence of others.
  void set(runtime::Queue& queue) override {
    const Feeding feeding(context_, queue.use());
    const std::scoped_lock lock(context_.order);
    context_.enter();
    const unsigned flags = Capture::current(context_) ? CU_EVENT_RECORD_EXTERNAL : CU_EVENT_RECORD_DEFAULT;
    check(cuEventRecordWithFlags(event_, context_.stream(), flags), kOp);
  }

  std::int64_t since(const TimeMark& earlier) const override {
    context_.enter();
    float milliseconds = 0;
    check(cuEventElapsedTime(&milliseconds, static_cast<const EventMark&>(earlier).event_, event_), kOp);
    return std::llround(1e6 * static_cast<double>(milliseconds));
  }

 private:
  Context& context_;
  CUevent event_ = nullptr;
};

}  // namespace

std::unique_ptr<runtime::TimeMark> make_time_mark(Context& context) { return std::make_unique<EventMark>(context); }

}  // namespace tegula::gpu
