#pragma once
// Runs a tile program on emulated threads and on the reference interpreter and compares every byte of memory they were given.

#include "tests/cpu/executor_support.h"
#include "tests/support/emulator.h"

namespace tegula::gpu {

using host::TestArgument;

inline ::testing::AssertionResult emulation_agrees(const tile::Program& program, const std::vector<TestArgument>& arguments,
                                                   const host::RunOptions& options = {}, const EmulationOptions& emulation = {}) {
  const auto run = [&](const std::function<void(std::span<const runtime::ArgumentSet>)>& launch) {
    std::vector<TestArgument> own = arguments;
    std::vector<std::vector<std::uint64_t>> aligned;  // as the GPU's allocator would place them
    std::vector<runtime::Argument> values(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      TestArgument& memory = own[i].same_as >= 0 ? own[static_cast<std::size_t>(own[i].same_as)] : own[i];
      if (program.parameters[i].pointer) values[i].pointer = memory.bytes.data();
      else if (is_float(program.parameters[i].dtype)) values[i].real = own[i].real;
      else values[i].integer = own[i].integer;
    }
    std::vector<runtime::ArgumentSet> sets;
    for (const auto& grid : options.grids) sets.push_back({values.data(), grid});
    launch(sets);
    return own;
  };
  const auto expected = run([&](std::span<const runtime::ArgumentSet> sets) {
    for (const runtime::ArgumentSet& set : sets) tile::interpret(program, set);
  });
  const auto kernel = emulated_kernel(program, emulation);
  const auto got = run([&](std::span<const runtime::ArgumentSet> sets) { kernel->launch(sets, {}); });
  std::string problem;
  for (std::size_t i = 0; i < got.size(); ++i) {
    int count = 0;
    host::compare_memory(got[i].dtype, got[i].bytes, expected[i].bytes, options.tolerance, [&](std::size_t at, double a, double b) {
      if (++count > 4) return;
      char line[160];
      std::snprintf(line, sizeof line, "argument %zu element %zu: %.9g, expected %.9g\n", i, at, a, b);
      problem += line;
    });
  }
  if (problem.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << problem << tile::to_string(program) << "\n" << kernel->listing();
}

}  // namespace tegula::gpu
