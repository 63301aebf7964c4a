#include "tests/support/emulated_check.h"

#include <cstdio>

namespace tegula::gpu {

::testing::AssertionResult emulation_agrees(const tile::Program& program, const std::vector<TestArgument>& arguments,
                                            const host::RunOptions& options, const EmulationOptions& emulation,
                                            const runtime::LaunchOptions& how) {
  const auto expected = host::interpreted(program, arguments, options);
  EmulationOptions within = emulation;
  within.memory = [&](std::span<const runtime::ArgumentSet> sets) {
    std::vector<std::span<const std::byte>> all;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (program.parameters[i].pointer && arguments[i].same_as < 0)
        all.emplace_back(static_cast<const std::byte*>(sets[0].arguments[i].pointer), arguments[i].bytes.size());
    return all;
  };
  within.instances_meet = options.grids.size() > 1;  // over the same arguments
  const auto kernel = emulated_kernel(program, within);
  const auto got = host::after(program, arguments, options, [&](std::span<const runtime::ArgumentSet> sets) { kernel->launch(sets, how); });
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
