#pragma once
// Shared by the benchmark programs: medians of wall times, the two ceilings, one line per case (name, value, unit).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tegula/runtime/registry.h"

namespace tegula::bench {

/// Median wall time of f in seconds, over about `seconds` of calls (at least five).
inline double wall(const std::function<void()>& f, double seconds = 1.0, int warm = 3) {
  using Clock = std::chrono::steady_clock;
  const auto timed = [&] {
    const auto begin = Clock::now();
    f();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  for (int i = 0; i < warm; ++i) f();
  const double one = timed();
  std::vector<double> times(static_cast<std::size_t>(std::clamp(seconds / std::max(one, 1e-7), 5.0, 20000.0)));
  for (double& time : times) time = timed();
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

/// Computes on $TEGULA_BENCH_DEVICE from now on, cuda when it is not set.
inline void choose_device() {
  const char* name = std::getenv("TEGULA_BENCH_DEVICE");
  set_default_device(device(name ? name : "cuda"));
}

/// One case. `share` is of the ceiling named by `floor` ("sgemm", "copy"), 0 when there is none.
inline void report(const std::string& name, double value, const std::string& unit, double share = 0, const std::string& floor = "") {
  std::printf("%-44s %12.3f %-10s", name.c_str(), value, unit.c_str());
  if (share > 0) std::printf(" %5.2f of %s", share, floor.c_str());
  std::printf("\n");
  std::fflush(stdout);
}

/// f32 matrix product 2048³ through the library, two threads, FLOP/s; and a copy of 512 MiB with stores past the caches, bytes/s
/// (read + written).
double sgemm_rate();
double copy_rate();

/// True if the word is on the command line.
inline bool asked(int argc, char** argv, const char* word) {
  return std::any_of(argv + std::min(argc, 1), argv + argc, [word](const char* one) { return std::strcmp(one, word) == 0; });
}

/// Names given on the command line select cases by prefix; none selects all.
inline bool selected(int argc, char** argv, const std::string& name) {
  bool any = argc <= 1;
  for (int i = 1; i < argc; ++i) any = any || name.starts_with(argv[i]);
  return any;
}

}  // namespace tegula::bench
