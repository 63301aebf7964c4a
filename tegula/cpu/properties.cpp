// The peak rate is measured: no interface reports the clock while vector units work.
#include "tegula/cpu/simd/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/properties.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// `rounds` times twelve independent multiply-adds of vectors, enough to hide their latency (4 cycles, two units). Returns their
/// floating-point operations. *value is where the sums begin and what they end as, which keeps the compiler from leaving them out.
double multiply_add_here(std::int64_t rounds, float* value) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f), addend = hn::Set(d, 0.001f);
  const auto from = [&](float number) { return hn::Set(d, *value + number); };
  auto a = from(1), b = from(2), c = from(3), e = from(4), f = from(5), g = from(6), h = from(7), i = from(8), j = from(9), k = from(10),
       l = from(11), m = from(12);
  for (std::int64_t r = 0; r < rounds; ++r) {
    a = hn::MulAdd(a, factor, addend), b = hn::MulAdd(b, factor, addend), c = hn::MulAdd(c, factor, addend);
    e = hn::MulAdd(e, factor, addend), f = hn::MulAdd(f, factor, addend), g = hn::MulAdd(g, factor, addend);
    h = hn::MulAdd(h, factor, addend), i = hn::MulAdd(i, factor, addend), j = hn::MulAdd(j, factor, addend);
    k = hn::MulAdd(k, factor, addend), l = hn::MulAdd(l, factor, addend), m = hn::MulAdd(m, factor, addend);
  }
  const auto all = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i)));
  *value = hn::GetLane(hn::Add(all, hn::Add(hn::Add(j, k), hn::Add(l, m))));
  return 24.0 * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}

const char* target_here() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <vector>

#include "tegula/cpu/onednn/onednn.h"
#include "tegula/cpu/parallel.h"
#include "tegula/cpu/properties.h"
#include "tegula/runtime/fingerprint.h"

namespace tegula::host {
HWY_EXPORT(multiply_add_here);
HWY_EXPORT(target_here);

namespace {

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    return colon == std::string::npos ? line : line.substr(colon + 2);
  }
  return "CPU";
}

/// The threads' best pieces of about 0.2 ms, which a busy machine disturbs least, added up.
double multiply_add_rate(int threads) {
  constexpr std::int64_t kRounds = 100'000;
  constexpr int kAttempts = 100;
  std::vector<double> best(static_cast<std::size_t>(threads));
  parallel(threads, [&](int thread, int) {
    double& rate = best[static_cast<std::size_t>(thread)];
    float value = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const auto begin = std::chrono::steady_clock::now();
      const double operations = HWY_DYNAMIC_DISPATCH(multiply_add_here)(kRounds, &value);
      rate = std::max(rate, operations / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  });
  double sum = 0;
  for (const double rate : best) sum += rate;
  return sum;
}

}  // namespace

const char* instruction_set() { return HWY_DYNAMIC_DISPATCH(target_here)(); }

runtime::DeviceProperties find_properties(int threads) {
  return {
      .model = model_name(),
      .architecture = instruction_set(),
      .processors = threads,
      .memory_bytes = static_cast<std::size_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)),
      .f32 = multiply_add_rate(threads)};
}

}  // namespace tegula::host

namespace tegula::runtime {

std::string cpu_fingerprint() { return std::string("cpu ") + host::instruction_set() + ", " + host::onednn_version(); }

}  // namespace tegula::runtime
#endif
