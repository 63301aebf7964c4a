#pragma once
// True if this process computes on the GPU that is only pretended (tests/cuda/driver): kernels are made as for a real one and do nothing, so results
// mean nothing. Tests can check there that everything can be made.

#include <cstdlib>
#include <string_view>

#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula::test {

inline bool on_paper() {
  const char* driver = std::getenv("TEGULA_FAKE_DRIVER");
  return driver && std::string_view(driver) == "paper" && &default_device() != &cpu();
}

}  // namespace tegula::test
