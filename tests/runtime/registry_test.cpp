// Devices by name. The messages without a GPU: tests/cuda/registry_test.cpp.

#include "tegula/runtime/registry.h"

#include <gtest/gtest.h>

#include "tegula/core/error.h"
#include "tegula/runtime/device.h"

namespace tegula {
namespace {

TEST(Registry, NamesDevices) {
  EXPECT_EQ(device("cpu").name(), "cpu");
  EXPECT_EQ(&device("cpu"), &cpu());
  EXPECT_EQ(&runtime::device_of(0), &cpu());
  for (const char* wrong : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "CUDA"}) EXPECT_THROW(device(wrong), Error) << wrong;
}

}  // namespace
}  // namespace tegula
