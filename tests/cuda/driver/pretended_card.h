#pragma once
// The card of fake_driver.cpp: an H200, or a T4 (40 multiprocessors, 64 KiB of shared memory) if TEGULA_FAKE_ARCHITECTURE is 75.

#include <cuda.h>

#include <cstdlib>
#include <string_view>

/// TEGULA_FAKE_DRIVER.
inline std::string_view kind() {
  const char* value = std::getenv("TEGULA_FAKE_DRIVER");
  return value ? value : "none";
}

inline int architecture() {
  const char* const asked = std::getenv("TEGULA_FAKE_ARCHITECTURE");
  return asked && *asked ? std::atoi(asked) : kind() == "sm_70" ? 70 : 90;
}

inline int attribute(CUdevice_attribute which) {
  const bool turing = architecture() < 80;
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return architecture() / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return architecture() % 10;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return turing ? 40 : 132;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return turing ? 1024 : 2048;
    default: return (turing ? 64 : 227) << 10;
  }
}
