// Each way in which there can be no GPU has its own sentence. tests/cuda/driver/ plays the driver (see tests/cuda/tests.cmake).

#include "tegula/runtime/registry.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tegula/core/error.h"
#include "tegula/runtime/device.h"

namespace tegula {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string message(int index = 0) {
  try {
    cuda(index, {});
  } catch (const Error& error) { return error.what(); }
  return "";
}

/// cuda() throws this and cuda_count() says it.
void expect_reason(const std::string& reason) {
  EXPECT_TRUE(message().starts_with("cuda: got " + reason)) << message();
  std::string why;
  EXPECT_EQ(cuda_count(&why), 0);
  EXPECT_EQ(why, message());
}

TEST(Registry, SaysThatThereIsNoDriver) {
  if (!environment("TEGULA_FAKE_DRIVER").empty()) GTEST_SKIP() << "there is one";
  if (cuda_count() > 0 || !message().starts_with("cuda: got no NVIDIA driver")) GTEST_SKIP() << "this machine has a driver";
  expect_reason("no NVIDIA driver on this machine (libcuda.so.1");
}

TEST(Registry, SaysWhatTheDriverLacks) {
  const std::string driver = environment("TEGULA_FAKE_DRIVER");
  const std::string library = environment("TEGULA_CUDA_LIBRARY");
  if (driver.empty()) GTEST_SKIP() << "needs the driver of the tests";
  if (library == "missing.so") return expect_reason("a library that cannot be loaded, missing.so: cannot open");
  if (library == "libcuda.so.1") return expect_reason("a libtegula_cuda.so of another version");
  if (environment("TEGULA_TEST_NO_LIBRARY") == "1") return expect_reason("no libtegula_cuda.so, the CUDA side of this library");
  if (driver == "old") return expect_reason("an NVIDIA driver for CUDA 11.4, expected CUDA ");
  if (driver == "none") return expect_reason("no NVIDIA GPU");
  if (driver == "sm_70") return expect_reason("Paper GPU (sm_70), expected a GPU of architecture sm_75");
  std::string why;
  EXPECT_EQ(cuda_count(&why), 1) << why;
  EXPECT_EQ(cuda().name(), "cuda:0");
  EXPECT_EQ(&runtime::device_of(cuda().number()), &device("cuda:0"));
  EXPECT_EQ(message(1).substr(0, 28), "cuda: got device 1, expected");
  set_default_device(cuda());
  EXPECT_EQ(&default_device(), &cuda());
  set_default_device(cpu());
}

}  // namespace
}  // namespace tegula
