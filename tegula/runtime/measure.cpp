#include "tegula/runtime/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tegula::runtime {
namespace {

/// Past the caches: memcpy would often read every line of `to` before it is written, which is traffic that the rate does not count.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  for (std::size_t i = 0; i < bytes; i += sizeof(__m128i)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

/// Each thread copies a part of its own; buffers are aligned, parts whole lines.
void copy_by_threads(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t threads) {
  const std::size_t part = bytes / threads / kBufferAlignment * kBufferAlignment;
  std::vector<std::thread> workers;
  for (std::size_t t = 1; t < threads; ++t) workers.emplace_back([=] { copy_streaming(to + t * part, from + t * part, part); });
  copy_streaming(to, from, part);
  for (auto& worker : workers) worker.join();
}

}  // namespace

Timing measure(Device& device, const std::function<void()>& work, const MeasureOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_of = [&](int runs) {
    device.synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < runs; ++i) work();
    device.synchronize();
    return std::chrono::duration<double>(Clock::now() - begin).count() / runs;
  };
  for (int i = 0; i < options.warm_up; ++i) work();
  const int batches = std::max(options.batches, 1);
  const double wanted = options.seconds / batches / std::max(seconds_of(1), 1e-7);
  const int runs = static_cast<int>(std::clamp(wanted, 1.0, 100'000.0));
  std::vector<double> times(static_cast<std::size_t>(batches));
  for (double& time : times) time = seconds_of(runs);
  std::sort(times.begin(), times.end());
  return {.median = times[times.size() / 2], .fastest = times.front()};
}

double copy_rate(Device& device, std::size_t bytes, const MeasureOptions& options) {
  const Ref<Buffer> from = device.allocate(bytes), to = device.allocate(bytes);
  if (!device.traits().queues) {
    std::memset(from->data(), 1, bytes);  // else all pages would be the one of zeros
    std::memset(to->data(), 2, bytes);
  }
  const auto threads = static_cast<std::size_t>(std::max(device.max_threads(), 1));
  const double seconds =
      measure(
          device,
          [&] {
            if (device.traits().queues) device.copy(to->data(), from->data(), bytes);
            else copy_by_threads(static_cast<std::byte*>(to->data()), static_cast<const std::byte*>(from->data()), bytes, threads);
          },
          options)
          .fastest;
  return 2.0 * static_cast<double>(bytes) / seconds;
}

}  // namespace tegula::runtime
