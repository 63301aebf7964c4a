#pragma once
// Runs a tile program by the machine (or its text on emulated threads) and by the reference interpreter and compares every byte of memory they were given.

#include "tests/support/emulator.h"
#include "tests/support/executor_support.h"

namespace tegula::gpu {

using host::TestArgument;

::testing::AssertionResult emulation_agrees(const tile::Program& program, const std::vector<TestArgument>& arguments,
                                            const host::RunOptions& options = {}, const EmulationOptions& emulation = {},
                                            const runtime::LaunchOptions& how = {});

}  // namespace tegula::gpu
