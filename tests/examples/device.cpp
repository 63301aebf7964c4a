// Linked to the programs of examples/tile: TEGULA_TEST_DEVICE runs them on another device than the CPU.

#include "tests/support/test_device.h"

namespace {

[[maybe_unused]] const bool chosen = (tegula::test::choose_test_device(), true);

}  // namespace
