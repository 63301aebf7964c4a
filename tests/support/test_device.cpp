// TEGULA_TEST_DEVICE=queued|emulated|emulated-queue|cuda:0 runs a whole test program on another device than the CPU.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tegula/runtime/registry.h"
#include "tegula/simt/layout.h"
#include "tests/support/emulator.h"
#include "tests/support/queued_device.h"

namespace tegula::test {
namespace {

/// Queues emulated kernels as a GPU would, with an H200's tiles. The kernels of a plan are compiled together.
class EmulatedQueue final : public QueuedDevice {
 public:
  std::unique_ptr<runtime::Kernel> compile(const tile::Program& program) override { return queued(gpu::emulated_kernel(program), program); }
  void prepare(std::span<const runtime::PlannedLaunch> launches) override {
    std::vector<runtime::PlannedLaunch> all(launches.begin(), launches.end());
    for (runtime::PlannedLaunch& launch : all) launch.kernel = &underneath(*launch.kernel);
    gpu::compile_together(all);
  }
  runtime::TilePreference tiles() const override { return gpu::tiles_for(gpu::Card()); }
  bool prefers_sums(std::int64_t results, std::int64_t terms) const override { return gpu::prefers_sums(results, terms); }
};

class ChosenDevice final : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* name = std::getenv("TEGULA_TEST_DEVICE");
    if (!name) return;
    if (std::string_view(name) == "queued") {
      static QueuedDevice& queued = QueuedDevice::create();
      set_default_device(queued);
    } else if (std::string_view(name) == "emulated") {
      set_default_device(gpu::emulated_device());
    } else if (std::string_view(name) == "emulated-queue") {
      set_default_device(*new EmulatedQueue);  // never destroyed, as QueuedDevice::create says
    } else {
      set_default_device(device(name));
    }
  }
};

[[maybe_unused]] const auto* const environment = ::testing::AddGlobalTestEnvironment(new ChosenDevice);

}  // namespace
}  // namespace tegula::test
