// Every way in which the generator writes a kernel, by one program each: its text, and its values by the machine, by the text on emulated threads and by
// the CPU's executor, beside those of the reference interpreter. Tiles are not full at their ends.

#include <algorithm>
#include <bit>
#include <iostream>
#include <map>
#include <string>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tests/support/emulated_check.h"
#include "tests/support/golden.h"
#include "tests/support/tile_samples.h"

namespace tegula::gpu {
namespace {

/// The facts about the sample's arguments, if memory begins at a multiple of 16 bytes.
Specialisation known_of(const Sample& sample) {
  Specialisation facts{.facts = {}, .many_sets = sample.run.grids.size() > 1, .guarded = sample.guarded};
  facts.one_axis = std::ranges::all_of(sample.run.grids, [](const auto& grid) { return grid[1] == 1 && grid[2] == 1; });
  for (std::size_t i = 0; i < sample.arguments.size(); ++i) {
    const tile::Parameter& parameter = sample.program.parameters[i];
    const auto number = static_cast<std::uint64_t>(sample.arguments[i].integer);
    const int fact = parameter.pointer ? 4 : is_integer(parameter.dtype) ? std::min(4, std::countr_zero(number)) | kShort : 0;
    facts.facts.push_back(static_cast<std::uint8_t>(fact));
  }
  return facts;
}

class Samples : public testing::TestWithParam<Sample> {};

TEST_P(Samples, HaveTheirGoldenTexts) {
  const Sample& sample = GetParam();
  const Generated code = generate(sample.program, known_of(sample), 90);
  EXPECT_TRUE(test::is_golden("sample_" + sample.name, test::with_figures(code)));
  if (!nvrtc_available()) return;
  EXPECT_GT(compile_cubin(with_prelude(code.source), 90).size(), 1000u);
}

TEST_P(Samples, LeaveOnTheMachineWhatTheInterpreterLeaves) {
  const Sample& sample = GetParam();
  const std::vector<runtime::Failure> guards(sample.guarded ? 2 : 0);
  for (const bool aligned : {true, false}) {
    for (const Pace pace : {Pace::Even, Pace::Uneven})
      EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.aligned = aligned, .pace = pace}, {.guards = guards}));
  }
}

/// All texts are compiled in one go, for which the arguments of all are there together.
void compile_texts(std::span<const Sample> left, std::vector<runtime::PlannedLaunch>& launches) {
  if (left.empty()) return compile_together(launches);
  const Sample& sample = left.front();
  const auto kernel = emulated_kernel(sample.program, {.text = true});
  host::after(sample.program, sample.arguments, sample.run, [&](std::span<const runtime::ArgumentSet> sets) {
    launches.push_back({kernel.get(), sets, sample.guarded});
    compile_texts(left.subspan(1), launches);
  });
}

/// The printer, and the machine's functions across threads, say what the prelude says.
TEST(SampleTexts, LeaveTheBitsThatTheMachineLeaves) {
  const std::vector<Sample> all = samples();
  std::vector<runtime::PlannedLaunch> launches;
  compile_texts(all, launches);
  for (const Sample& sample : all) {
    const std::vector<runtime::Failure> guards(sample.guarded ? 2 : 0);
    std::vector<std::vector<host::TestArgument>> left;
    for (const bool text : {true, false}) {
      const auto kernel = emulated_kernel(sample.program, {.text = text, .instances_meet = sample.run.grids.size() > 1});
      left.push_back(host::after(sample.program, sample.arguments, sample.run,
                                 [&](std::span<const runtime::ArgumentSet> sets) { kernel->launch(sets, {.guards = guards}); }));
    }
    for (std::size_t i = 0; i < left[0].size(); ++i) {
      host::compare_memory(left[0][i].dtype, left[0][i].bytes, left[1][i].bytes, 0, [&](std::size_t at, double a, double b) {
        ADD_FAILURE() << sample.name << " argument " << i << " element " << at << ": " << a << " by the text, " << b << " by the machine";
      });
    }
  }
}

TEST_P(Samples, LeaveOnTheCpuWhatTheInterpreterLeaves) {
  const Sample& sample = GetParam();
  EXPECT_TRUE(host::agrees(sample.program, sample.arguments, sample.run));
}

/// The number of times that warps wait for a bank of shared memory.
TEST(SampleBanks, AreCounted) {
  std::map<std::string, simt::Banks> banks;
  for (const Sample& sample : samples()) {
    simt::Observed observed;
    EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.observed = &observed},
                                 {.guards = std::vector<runtime::Failure>(sample.guarded ? 2 : 0)}));
    banks[sample.name] = observed.banks;
    if (observed.banks.accesses > 0)
      std::cout << sample.name << ": " << observed.banks.accesses << " accesses, " << observed.banks.conflicts << " conflicts\n";
  }
  // Neighbours reach neighbouring words.
  for (const char* const name : {"dot_f32", "dot_f64", "cluster_row", "walked_row_f32", "carried_lines", "branches"}) {
    EXPECT_GT(banks[name].accesses, 0) << name;
    EXPECT_EQ(banks[name].conflicts, 0) << name;
  }
}

/// Pointers that move along are in closed form (tile/passes/closed_form.h): no thread holds any, and neighbours are loaded as with a counter.
TEST(CarriedPointers, CostNoMoreThanACounter) {
  std::vector<Generated> codes;
  for (const bool carried : {true, false}) {
    const tile::Program program = tiled_product({64, 64, 32}, f32, carried);
    codes.push_back(generate(program, {{4, 4, 4, 3 | kShort, 3 | kShort, 3 | kShort}, false}, 90));
    EXPECT_EQ(codes.back().source.find("float* v"), std::string::npos) << codes.back().source;
  }
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  std::vector<int> registers;
  for (const Generated& code : codes) registers.push_back(figures(with_prelude(code.source), 90).at(code.name).registers);
  EXPECT_LE(registers[0], registers[1]);
}

INSTANTIATE_TEST_SUITE_P(, Samples, testing::ValuesIn(samples()), [](const auto& info) { return info.param.name; });

TEST(Prelude, IsOfThePartsThatKernelsUse) {
  const auto has = [](const std::string& kernel, const std::string& part) {
    const std::string function = part == "Words" ? " fine_erf(" : part == "Across" ? " scan_shared(" : " copy_plainly(";
    const std::string unit = with_prelude(kernel);
    EXPECT_EQ(behind_prelude(unit), kernel);
    return unit.find(function) != std::string::npos;
  };
  EXPECT_FALSE(has("y = x + 1;", "Words"));
  EXPECT_FALSE(has("y = x + 1;", "Across"));
  EXPECT_TRUE(has("y = quick_tanh(x);", "Words"));
  EXPECT_FALSE(has("y = quick_tanh(x);", "Across"));
  EXPECT_FALSE(has("y = x.of;", "Across")) << "a static member alone names no struct";
  EXPECT_TRUE(has("y = Sum<float>::of(x, y);", "Across"));
  EXPECT_TRUE(has("combine_rows<Sum<float>, 4>(x);", "Across"));
  EXPECT_TRUE(has("combine_rows<Sum<float>, 4>(x);", "Words"));  // is_nan, of Best
  EXPECT_FALSE(has("combine_rows<Sum<float>, 4>(x);", "Products"));
  EXPECT_TRUE(has("const TensorMap map0;", "Products"));
  EXPECT_TRUE(behind_prelude("no unit").empty());
}

}  // namespace
}  // namespace tegula::gpu
