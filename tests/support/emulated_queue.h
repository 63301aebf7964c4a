#pragma once
// A GPU without one: an H200's plans and texts, queued as a GPU would, run by the emulator.

#include <vector>

#include "tegula/simt/decide/layout.h"
#include "tests/support/emulator.h"
#include "tests/support/queued_device.h"

namespace tegula::test {

/// The kernels of a plan are compiled together.
class EmulatedQueue final : public QueuedDevice {
 public:
  /// Never destroyed, as QueuedDevice::create says.
  static EmulatedQueue& create() { return *new EmulatedQueue; }

  std::unique_ptr<runtime::Kernel> compile(const tile::Program& program) override { return queued(gpu::emulated_kernel(program), program); }
  void prepare(std::span<const runtime::PlannedLaunch> launches) override {
    std::vector<runtime::PlannedLaunch> all(launches.begin(), launches.end());
    for (runtime::PlannedLaunch& launch : all) launch.kernel = &underneath(*launch.kernel);
    gpu::compile_together(all);
  }
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override {
    std::vector<runtime::Candidate> out = QueuedDevice::candidates(d);
    const auto* const product = std::get_if<runtime::Matmul>(&d);
    for (runtime::Candidate& way : out) way.programs_are_faster = product && gpu::programs_are_faster(*product);
    return out;
  }

 private:
  EmulatedQueue() { preference = gpu::tiles_for(gpu::Card()); }
};

}  // namespace tegula::test
