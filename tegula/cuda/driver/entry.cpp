// The one symbol of libtegula_cuda.so.
#include <string>

#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/cuda/driver/device.h"
#include "tegula/runtime/registry.h"

extern "C" __attribute__((visibility("default"))) const tegula::runtime::CudaLibrary* tegula_cuda_library(int interface);

const tegula::runtime::CudaLibrary* tegula_cuda_library(int interface) {
  static constexpr tegula::runtime::CudaLibrary library{
      .count =
          [](std::string& why) {
            try {
              return tegula::gpu::count_devices();
            } catch (const tegula::Error& error) {
              why = error.what();
              return 0;
            }
          },
      .open = [](int index) -> tegula::Device& { return tegula::gpu::open_device(index); },
      .findings = [](int index) -> tegula::runtime::DeviceFindings& { return tegula::gpu::findings_of_device(index); },
      .forward_warnings = tegula::forward_warnings,
      .ask_for_checks = tegula::ask_for_checks};
  return interface == TEGULA_INTERFACE ? &library : nullptr;
}
