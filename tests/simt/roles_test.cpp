// Products of which a warp copies the tiles and the others multiply: which kernels are of that kind, their values by the machine beside the interpreter's, blocks
// that stay for several instances, and faults put into them, which the verifier or the machine must find.

#include <string>
#include <vector>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tests/support/kernel_faults.h"
#include "tests/support/tensor_products.h"

namespace tegula::gpu {
namespace {

using simt::Expression;

Specialisation known() { return {.facts = {4, 4, 4, 4 | kShort, 4 | kShort, 4 | kShort}, .maps = true}; }
Generated code_of(const TensorProduct& p) { return generate(program_of(p), known(), 90); }

class Roles : public testing::TestWithParam<TensorProduct> {};

TEST_P(Roles, LeaveOnTheMachineWhatTheInterpreterLeaves) {
  EXPECT_TRUE(code_of(GetParam()).stays);
  for (const auto& [M, N, K] : {std::array{200, 136, 336}, {72, 264, 16}, {64, 64, 0}}) {
    const Sample sample = sample_of(GetParam(), M, N, K);
    for (const Pace pace : {Pace::Even, Pace::Even, Pace::Uneven, Pace::Uneven})
      EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.pace = pace})) << M;
  }
}
TEST_P(Roles, PassTheVerifier) { EXPECT_EQ(simt::faults(make_kernel(program_of(GetParam()), known(), 90)), std::vector<std::string>()); }
INSTANTIATE_TEST_SUITE_P(, Roles,
                         testing::Values(TensorProduct{.tile = {64, 64, 64}, .roles = true},
                                         TensorProduct{.tile = {64, 128, 64}, .out = bf16, .b = From::Columns, .roles = true},
                                         TensorProduct{.tile = {128, 64, 64}, .stored = f16, .stages = 2, .roles = true},
                                         TensorProduct{.tile = {128, 64, 64}, .out = bf16, .doubled = true, .stages = 3, .roles = true},
                                         TensorProduct{.tile = {64, 64, 32}, .a = From::Columns, .b = From::Transposed, .roles = true},
                                         TensorProduct{.tile = {64, 64, 128}, .stored = e4m3, .b = From::Columns, .roles = true},
                                         TensorProduct{
                                             .tile = {64, 64, 128}, .stored = e4m3, .b = From::Columns, .imprecise = 64, .roles = true},
                                         TensorProduct{.tile = {64, 64, 64}, .stored = i8, .out = i32, .b = From::Columns, .roles = true}),
                         [](const auto& info) { return name_of(info.param); });

TEST(RoleDecisions, AreForKernelsWhoseThreadsNeedEachOtherNowhereElse) {
  EXPECT_TRUE(code_of({.tile = {64, 64, 64}, .roles = true}).stays);
  EXPECT_EQ(code_of({.tile = {64, 64, 64}, .roles = true}).threads, 128 + 32);
  EXPECT_FALSE(code_of({.tile = {64, 64, 64}, .boxes = false, .roles = true}).stays);  // threads copy
  EXPECT_FALSE(code_of({.tile = {32, 64, 64}, .roles = true}).stays);  // products of single warps
  Specialisation guarded = known();
  guarded.guarded = true;
  EXPECT_FALSE(generate(program_of({.tile = {64, 64, 64}, .roles = true}), guarded, 90).stays);
  Specialisation many = known();
  many.many_sets = true;
  EXPECT_FALSE(generate(program_of({.tile = {64, 64, 64}, .roles = true}), many, 90).stays);
}

TEST(RoleTexts, CompileWithoutSpills) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const TensorProduct& p : {TensorProduct{.tile = {128, 256, 64}, .out = bf16, .roles = true},
                                 {.tile = {128, 128, 64}, .out = bf16, .b = From::Columns, .roles = true},
                                 {.tile = {128, 256, 128}, .stored = e4m3, .out = bf16, .b = From::Columns, .roles = true}}) {
    const Generated code = code_of(p);
    testing::internal::CaptureStderr();
    const auto used = figures(with_prelude(code.source), 90).at(code.name);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("Performance Loss"), std::string::npos);
    EXPECT_EQ(used.spill_stores, 0u);
    EXPECT_LE(used.stack_bytes, 16u);  // of a call that hardly happens
  }
}

bool is_of_warp(const Statement& one) {
  const auto* const barrier = one.as<simt::Barrier>();
  return barrier != nullptr && barrier->kind == simt::Barrier::Kind::Warp;
}
std::vector<Fault> faults() {
  using namespace simt;
  const auto elsewhere = [](Expression& counter) { counter = std::move(counter) + 8; };
  return {
      {"free stages are not awaited", without<AwaitBytes>(), 1},
      {"full stages are not awaited", without<AwaitBytes>(), 0},
      {"another stage is awaited", changed<AwaitBytes>([&](AwaitBytes& wait) { elsewhere(wait.counter); }), 0},
      {"another stage is taken for free", changed<AwaitBytes>([&](AwaitBytes& wait) { elsewhere(wait.counter); }), 1},
      {"the phase ahead of the first is awaited", changed<AwaitBytes>([](AwaitBytes& wait) { wait.parity = binary(1, "-", wait.parity); }),
       0},
      {"stages are not free at first", changed<AwaitBytes>([](AwaitBytes& wait) { wait.parity = "parity"; }), 1},
      {"the parity of who multiplies does not change", stays("parity"), 0},
      {"the parity of who copies does not change", stays("parity"), 1},
      {"the stage is not counted on", stays("stage"), 0, true},
      {"nobody says that a stage is free", without<Arrive>(), 0},
      {"nobody says that the last stage is free", without<Arrive>(), 1},
      {"a stage is free too early", changed<Arrive>([](Arrive& arrive) {
         arrive.counter = Expression(arrive.counter) + Expression("stage") * 8 - Expression("behind") * 8;
       }),
       0},
      {"another stage is said to be free", changed<Arrive>([&](Arrive& arrive) { elsewhere(arrive.counter); }), 0, true},
      {"all lanes say that a stage is free",
       [](Statement& one) { return one.as<Arrive>() != nullptr && (one.when = binary("behind", ">=", 0), true); }, 0, true},
      {"one group says that a stage is free for both",
       [](Statement& one) {
         auto* const begin = one.as<BeginCounters>();
         if (begin != nullptr && begin->arrivals > 1) return begin->arrivals = 1, true;
         return one.as<Arrive>() != nullptr && (one.when = binary(binary("threadIdx.x", "==", 0), "&&", binary("behind", ">=", 0)), true);
       },
       0, true},
      {"each warp says that a stage is free",
       [](Statement& one) {
         const Expression first = binary(group(binary(thread_index(), "&", 31)), "==", 0);
         return one.as<Arrive>() != nullptr && (one.when = binary(first, "&&", binary("behind", ">=", 0)), true);
       },
       0, true},
      {"a group too few is counted", changed<BeginCounters>([](BeginCounters& begin) { begin.arrivals -= begin.arrivals > 1; }), 1},
      {"a group too many is counted", changed<BeginCounters>([](BeginCounters& begin) { begin.arrivals += begin.arrivals > 1; }), 1},
      {"a counter too few begins", changed<BeginCounters>([](BeginCounters& begin) { --begin.count; }), 1},
      {"no bytes are expected", without<ExpectBytes>()},
      {"a box too few is expected", changed<ExpectBytes>([](ExpectBytes& expect) { expect.bytes -= 8192; })},
      {"threads do not meet behind the begin of counters", without<Barrier>()},
      {"products are not awaited before their stage is free", changed<AwaitProducts>([](AwaitProducts& wait) { ++wait.unfinished; }), 0},
      {"the last products are not awaited", without<AwaitProducts>(), 1},
      {"a box is left out", without<CopyBox>(), 1},
      {"a warp does not meet behind what it writes", [](Statement& one) { return is_of_warp(one) && (one = Note{"taken out"}, true); }, 0},
      {"a warp does not meet behind what it reads", [](Statement& one) { return is_of_warp(one) && (one = Note{"taken out"}, true); }, 1},
  };
}
TEST(RoleFaults, AreFoundByTheVerifierOrTheMachine) {
  expect_found(faults(), sample_of({.tile = {128, 128, 64}, .out = bf16, .roles = true}, 200, 264, 336));
}

}  // namespace
}  // namespace tegula::gpu
