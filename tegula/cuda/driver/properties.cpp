#include "tegula/cuda/driver/properties.h"

#include <map>
#include <mutex>

namespace tegula::gpu {
namespace {

/// Floating-point operations per clock and multiprocessor; dense, sums in f32 (CUDA C++ Programming Guide, arithmetic instructions; NVIDIA's
/// papers on the architectures). Tensor cores of the architectures left out differ between cards of one architecture: 0.
struct PerClock {
  int architecture;
  double f32, tf32, half, fp8;
};
constexpr PerClock kPerClock[] = {{80, 128, 1024, 2048, 0}, {90, 256, 2048, 4096, 8192}, {100, 256, 4096, 8192, 16384}};

double attribute(const Context& context, CUdevice_attribute which) {
  int value = 0;
  check(cuDeviceGetAttribute(&value, which, context.device), "cuda");
  return value;
}

runtime::DeviceProperties ask(const Context& context) {
  runtime::DeviceProperties p{.model = context.name,
                              .architecture = "sm_" + std::to_string(context.card.architecture),
                              .processors = context.card.multiprocessors,
                              .memory_bytes = context.memory_bytes};
  const double memory_clock = 1e3 * attribute(context, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);  // kHz; two transfers each
  p.bytes_per_second = 2 * memory_clock * attribute(context, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  const double clocks = 1e3 * attribute(context, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * context.card.multiprocessors;
  for (const PerClock& known : kPerClock) {
    if (known.architecture != context.card.architecture) continue;
    p.f32 = clocks * known.f32;
    p.tf32 = clocks * known.tf32;
    p.bf16 = p.f16 = clocks * known.half;
    p.fp8 = clocks * known.fp8;
  }
  return p;
}

}  // namespace

runtime::DeviceProperties find_properties(const Context& context) {
  static std::mutex mutex;
  static std::map<CUdevice, runtime::DeviceProperties> known;  // the driver takes milliseconds to tell clock rates
  const std::scoped_lock lock(mutex);
  const auto at = known.find(context.device);
  return at != known.end() ? at->second : known.emplace(context.device, ask(context)).first->second;
}

}  // namespace tegula::gpu
