#pragma once

namespace tegula::test {

/// Makes the device that TEGULA_TEST_DEVICE names the default one: queued, communicating, emulated, emulated-queue, emulated-queue-sm_75 (a T4), or as
/// tegula::device reads it. Does nothing where the variable is not set.
void choose_test_device();

}  // namespace tegula::test
