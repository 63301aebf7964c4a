#include <cstring>
#include <thread>

#include "bench/measure.h"
#include "tegula/runtime/device.h"

namespace tegula::bench {

double sgemm_rate() {
  constexpr std::int64_t n = 2048;
  auto& device = runtime::cpu();
  const Layout square = Layout::dense({n, n});
  const auto call = device.make(runtime::Matmul::of(DType::f32, square, square, square));
  std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f), c(n * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 97) / 97, b[i] = static_cast<float>(i % 89) / 89;
  std::vector<char> scratch(call->scratch_bytes() + 64);
  auto* aligned = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
  void* buffers[] = {a.data(), b.data(), c.data()};
  const double time = wall([&] { call->run(buffers, {.scratch = aligned, .threads = device.max_threads()}); });
  return 2.0 * n * n * n / time;
}

double copy_rate() {
  constexpr std::size_t bytes = 512u << 20;
  const auto threads = static_cast<std::size_t>(runtime::cpu().max_threads());
  std::vector<char> from(bytes, 1), to(bytes, 2);
  const double time = wall([&] {
    std::vector<std::thread> workers;  // each copies its own part; memcpy streams blocks of this size
    for (std::size_t t = 1; t < threads; ++t) {
      workers.emplace_back(
          [&, t] { std::memcpy(to.data() + t * (bytes / threads), from.data() + t * (bytes / threads), bytes / threads); });
    }
    std::memcpy(to.data(), from.data(), bytes / threads);
    for (auto& worker : workers) worker.join();
  });
  return 2.0 * static_cast<double>(bytes) / time;
}

}  // namespace tegula::bench
