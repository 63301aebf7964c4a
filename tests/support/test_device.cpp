// TEGULA_TEST_DEVICE=queued|communicating|emulated|emulated-queue|emulated-queue-sm_75|cuda:0 runs a whole test program on another device than the CPU.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tegula/runtime/registry.h"
#include "tests/support/emulated_queue.h"
#include "tests/support/test_device.h"

namespace tegula::test {

void choose_test_device() {
  const char* name = std::getenv("TEGULA_TEST_DEVICE");
  if (!name) return;
  if (std::string_view(name) == "queued" ||
      std::string_view(name) == "communicating") {  // with ranks (tests/dist/ranks.h), each has its own
    static QueuedDevice& queued = QueuedDevice::create();
    set_default_device(queued);
  } else if (std::string_view(name) == "emulated") {
    set_default_device(gpu::emulated_device());
  } else if (std::string_view(name) == "emulated-queue") {
    set_default_device(EmulatedQueue::create());
  } else if (std::string_view(name) == "emulated-queue-sm_75") {
    set_default_device(EmulatedQueue::create({.architecture = 75, .multiprocessors = 40}));
  } else {
    set_default_device(device(name));
  }
}

namespace {

class ChosenDevice final : public ::testing::Environment {
 public:
  void SetUp() override { choose_test_device(); }
};

[[maybe_unused]] const auto* const environment = ::testing::AddGlobalTestEnvironment(new ChosenDevice);

}  // namespace
}  // namespace tegula::test
