#include "tegula/cuda/driver/measure.h"

#include <algorithm>
#include <mutex>

#include "tegula/core/error.h"

namespace tegula::gpu {
namespace {

constexpr const char* kOp = "measuring algorithms";

/// A CUDA graph of `count` repetitions.
class Replay {
 public:
  Replay(Context& context, const std::function<void(int)>& run, int count) : context_(context) {
    check(cuStreamBeginCapture(context.stream(), CU_STREAM_CAPTURE_MODE_RELAXED), kOp);
    CUgraph graph = nullptr;
    try {
      for (int i = 0; i < count; ++i) run(i);
    } catch (...) {
      cuStreamEndCapture(context.stream(), &graph);
      if (graph) cuGraphDestroy(graph);
      throw;
    }
    check(cuStreamEndCapture(context.stream(), &graph), kOp);
    const CUresult made = cuGraphInstantiate(&executable_, graph, 0);
    cuGraphDestroy(graph);
    check(made, kOp);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() { cuGraphExecDestroy(executable_); }
  void operator()() const { check(cuGraphLaunch(executable_, context_.stream()), kOp); }

 private:
  Context& context_;
  CUgraphExec executable_ = nullptr;
};

class Event {
 public:
  Event() { check(cuEventCreate(&event_, CU_EVENT_DEFAULT), kOp); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cuEventDestroy(event_); }
  CUevent get() const { return event_; }

 private:
  CUevent event_ = nullptr;
};

/// Times the work put on the stream, in microseconds.
class Stopwatch {
 public:
  explicit Stopwatch(Context& context) : context_(context) {}
  template <class Work>
  double operator()(const Work& work) const {
    check(cuEventRecord(begin_.get(), context_.stream()), kOp);
    work();
    check(cuEventRecord(end_.get(), context_.stream()), kOp);
    check(cuEventSynchronize(end_.get()), kOp);
    float milliseconds = 0;
    check(cuEventElapsedTime(&milliseconds, begin_.get(), end_.get()), kOp);
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  Context& context_;
  Event begin_, end_;
};

/// The least of `samples` replays: what disturbs a measurement makes it longer.
double microseconds(Context& context, const std::function<void(int)>& run, int count, int samples) {
  const Replay replay(context, run, count);
  const Stopwatch watch(context);
  double best = 1e30;
  for (int sample = 0; sample < samples; ++sample) best = std::min(best, watch(replay) / count);
  return best;
}

/// One run as it comes, the gaps while it is being started included.
double once(Context& context, const std::function<void(int)>& run, int repetition) {
  return Stopwatch(context)([&] { run(repetition); });
}

// Microseconds.
constexpr double kLongEnough = 200;  // against what starting a graph takes
constexpr double kStarting = 200;    // upper bound of all gaps between launches
constexpr int kMostRepetitions = 32;
constexpr double kHopeless = 1.5;  // a candidate slower than the best by this factor is not measured more closely

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

bool is_recording(const Context& context) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(cuStreamIsCapturing(context.stream(), &status), kOp);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

std::optional<double> measure(Context& context, const std::function<void(int)>& run, double bound) {
  const std::scoped_lock lock(context.order);
  try {
    run(0);  // loads the kernel
    // A candidate that takes a thousand times as long as the best is run only once.
    if (const double started = once(context, run, 1); started > kHopeless * bound + kStarting) return started;
    const double first = microseconds(context, run, 2, 3);
    if (first > kHopeless * bound) return first;
    const int count = static_cast<int>(std::clamp(kLongEnough / first, 0.0, static_cast<double>(kMostRepetitions)));
    return count <= 2 ? first : microseconds(context, run, count, 5);
  } catch (const Error&) { return std::nullopt; }
}

RotatingBuffers::RotatingBuffers(Context& context, const std::vector<std::size_t>& sizes) {
  for (const std::size_t size : sizes) {
    offsets_.push_back(set_bytes_);
    set_bytes_ += aligned(size);
  }
  constexpr std::size_t kCache = std::size_t{128} << 20;  // twice the L2 of the largest card
  sets_ = static_cast<int>(std::clamp<std::size_t>(kCache / std::max<std::size_t>(set_bytes_, 1), 1, 8));
  const std::size_t bytes = std::max<std::size_t>(set_bytes_ * static_cast<std::size_t>(sets_), 1);
  memory_ = allocate(context, bytes);
  // 0x3c: 1.06 as f16, 0.011 as bf16 and f32, 1.5e-18 as f64.
  check(cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(memory_->data()), 0x3c, bytes, context.stream()), kOp);
}

void* RotatingBuffers::operator()(int repetition, std::size_t block) const {
  return static_cast<char*>(memory_->data()) + static_cast<std::size_t>(repetition % sets_) * set_bytes_ + offsets_[block];
}

std::optional<Fastest> fastest(Context& context, std::size_t candidates, const std::function<void(std::size_t, int)>& run) {
  std::optional<Fastest> best;
  for (std::size_t i = 0; i < candidates; ++i) {
    const auto time = measure(context, [&](int repetition) { run(i, repetition); }, best ? best->microseconds : 1e30);
    if (time && (!best || *time < best->microseconds)) best = Fastest{i, *time};
  }
  return best;
}

}  // namespace tegula::gpu
