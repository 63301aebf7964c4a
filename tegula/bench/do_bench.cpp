#include "tegula/bench/do_bench.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/evaluate.h"
#include "tegula/runtime/measure.h"
#include "tegula/runtime/registry.h"
#include "tegula/runtime/time_marks.h"

namespace tegula {
namespace {

using Clock = std::chrono::steady_clock;
double milliseconds(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

/// Memory larger than the last-level cache, written to empty that.
class Flush {
 public:
  explicit Flush(Device& device)
      : device_(device),
        bytes_(device.traits().queues ? kMost : host_bytes()),
        buffer_(device.allocate(2 * bytes_)) {
    if (!device.traits().queues) std::memset(buffer_->data(), 1, 2 * bytes_);
  }
  void operator()() {
    std::byte* const memory = static_cast<std::byte*>(buffer_->data());
    device_.copy(memory, memory + bytes_, bytes_);
  }

 private:
  static constexpr std::size_t kMost = std::size_t{128} << 20;
  static std::size_t host_bytes() {
    const long level3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::clamp<std::size_t>(level3 > 0 ? static_cast<std::size_t>(level3) : kMost / 4, std::size_t{8} << 20, kMost);
  }
  Device& device_;
  std::size_t bytes_;
  Ref<Buffer> buffer_;
};

/// One run, from when the device comes to it until it is over.
class Stopwatch {
 public:
  explicit Stopwatch(Device& device) : device_(device) {
    if (device.traits().queues) begin_ = device.time_mark(), end_ = device.time_mark();
  }
  double operator()(const std::function<void()>& work) {
    if (begin_ && end_) {
      begin_->set(device_.queue());
      work();
      end_->set(device_.queue());
      device_.synchronize();
      return static_cast<double>(end_->since(*begin_)) * 1e-6;
    }
    device_.synchronize();
    const auto begin = Clock::now();
    work();
    device_.synchronize();
    return milliseconds(begin);
  }

 private:
  Device& device_;
  std::unique_ptr<runtime::TimeMark> begin_, end_;
};

constexpr std::size_t kLeastRuns = 5, kMostRuns = 100'000;

}  // namespace

BenchTimes::BenchTimes(std::vector<double> times) : times_(std::move(times)) { std::ranges::sort(times_); }

double BenchTimes::mean() const { return std::accumulate(times_.begin(), times_.end(), 0.0) / static_cast<double>(times_.size()); }

double BenchTimes::quantile(double q, Line where) const {
  if (!(q >= 0 && q <= 1)) throw Error({.op = "quantile", .got = number_text(q), .expected = "0 to 1", .where = where});
  const double place = q * static_cast<double>(times_.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, times_.size() - 1);
  return std::lerp(times_[below], times_[above], place - static_cast<double>(below));
}

std::vector<double> BenchTimes::quantiles(const std::vector<double>& qs, Line where) const {
  std::vector<double> out;
  for (const double q : qs) out.push_back(quantile(q, where));
  return out;
}

void bench_detail::ask(const std::vector<Tensor>& results) {
  std::vector<Ref<Node>> nodes;
  for (const Tensor& result : results) nodes.push_back(result.node());
  evaluate(nodes, Line());
}

BenchTimes do_bench_calls(const std::function<void()>& work, const BenchOptions& options) {
  Device& device = default_device();
  Stopwatch watch(device);
  std::optional<Flush> flush;
  if (options.clear_cache) flush.emplace(device);
  work();  // compiles
  device.synchronize();
  const auto warm = Clock::now();
  do watch(work);
  while (milliseconds(warm) < options.warmup);
  std::vector<double> times;
  double sum = 0;
  const auto begin = Clock::now();
  while (times.size() < kLeastRuns || (sum < options.rep && milliseconds(begin) < 10 * options.rep && times.size() < kMostRuns)) {
    if (flush) (*flush)();
    times.push_back(watch(work));
    sum += times.back();
  }
  return BenchTimes(std::move(times));
}

BenchTimes do_bench_cudagraph(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                              const BenchOptions& options, Line where) {
  bench_detail::ask(inputs);
  compile::JitState recorded(where);
  const auto body = [&](std::span<const Tensor> in) { return compile::Results(f({in.begin(), in.end()})); };
  const auto run = [&] { bench_detail::ask(recorded.call(inputs, body)); };
  constexpr std::size_t kBatches = 10;
  Device& device = default_device();
  std::vector<double> times;
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    const double seconds = options.rep * 1e-3 / kBatches;
    const double warm = batch == 0 ? options.warmup * 1e-3 : 0;
    if (warm > 0) runtime::measure(device, run, {.seconds = warm, .batches = 1, .warm_up = 1});
    times.push_back(runtime::measure(device, run, {.seconds = seconds, .batches = 1, .warm_up = 0}).median * 1e3);
  }
  return BenchTimes(std::move(times));
}

}  // namespace tegula
