// Products whose terms the blocks of a cluster share: which kernels are of that kind, their values by the machine beside the interpreter's, and faults put into them,
// which the verifier or the machine must find.

#include <string>
#include <vector>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tests/support/kernel_faults.h"
#include "tests/support/tensor_products.h"

namespace tegula::gpu {
namespace {

using simt::Expression;

Specialisation known() { return {.facts = {4, 4, 4, 4 | kShort, 4 | kShort, 4 | kShort}, .maps = true}; }
Generated code_of(const TensorProduct& p, const Specialisation& facts = known()) { return generate(program_of(p), facts, 90); }

TEST(SharedTerms, AreOfLoopsThatAskForIt) {
  EXPECT_EQ(code_of({.tile = {64, 64, 64}, .blocks = 2}).cluster, 2);
  EXPECT_EQ(code_of({.tile = {64, 64, 64}, .blocks = 7}).cluster, 4);  // a power of two
  EXPECT_EQ(code_of({.tile = {64, 128, 64}, .blocks = 16}).cluster, 8);
  EXPECT_EQ(code_of({.tile = {64, 16, 64}, .b = From::Columns, .blocks = 16}).cluster, 2);  // of eight columns
  EXPECT_EQ(code_of({.tile = {128, 256, 32}, .stages = 2, .blocks = 8}).cluster, 1);  // no room for sums
  EXPECT_EQ(code_of({.tile = {64, 64, 64}}).cluster, 1);
  EXPECT_EQ(code_of({.tile = {64, 64, 64}, .boxes = false, .blocks = 2}).cluster, 1);  // threads copy
  EXPECT_EQ(code_of({.tile = {64, 64, 64}, .roles = true, .blocks = 2}).cluster, 1);
  EXPECT_EQ(code_of({.tile = {32, 64, 64}, .blocks = 2}).cluster, 1);  // products of single warps
  Specialisation guarded = known();
  guarded.guarded = true;
  EXPECT_EQ(code_of({.tile = {64, 64, 64}, .blocks = 2}, guarded).cluster, 1);
  EXPECT_EQ(generate(program_of({.tile = {64, 64, 64}, .blocks = 2}), known(), 80).cluster, 1);
}

class SharedTermsOf : public testing::TestWithParam<TensorProduct> {};

TEST_P(SharedTermsOf, LeaveOnTheMachineWhatTheInterpreterLeaves) {
  EXPECT_GT(code_of(GetParam()).cluster, 1);
  for (const auto& [M, N, K] :
       {std::array{72, 136, 592}, {64, 64, 1024}, {64, 72, 64}, {64, 64, 0}}) {  // fewer iterations than blocks, none
    const Sample sample = sample_of(GetParam(), M, N, K);
    for (const Pace pace : {Pace::Even, Pace::Uneven, Pace::Uneven})
      EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.pace = pace})) << M << " " << K;
  }
}
TEST_P(SharedTermsOf, PassTheVerifier) {
  EXPECT_EQ(simt::faults(make_kernel(program_of(GetParam()), known(), 90)), std::vector<std::string>());
}
INSTANTIATE_TEST_SUITE_P(, SharedTermsOf,
                         testing::Values(TensorProduct{.tile = {64, 64, 64}, .blocks = 2},
                                         TensorProduct{.tile = {64, 64, 64}, .b = From::Columns, .blocks = 8},
                                         TensorProduct{.tile = {64, 64, 64}, .out = bf16, .b = From::Columns, .doubled = true, .blocks = 4},
                                         TensorProduct{.tile = {64, 64, 64}, .out = bf16, .bulk = true, .blocks = 2},
                                         TensorProduct{.tile = {64, 128, 64}, .out = bf16, .bulk = true, .blocks = 2},  // of 64 columns
                                         TensorProduct{.tile = {64, 64, 128}, .stored = i8, .out = i32, .b = From::Columns, .blocks = 4}),
                         [](const auto& info) { return name_of(info.param); });

TEST(SharedTerms, CompileWithoutSpills) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const TensorProduct& p : {TensorProduct{.tile = {128, 128, 64}, .out = bf16, .blocks = 2},
                                 {.tile = {64, 64, 128}, .out = bf16, .b = From::Columns, .blocks = 4}}) {
    const Generated code = code_of(p);
    testing::internal::CaptureStderr();
    const auto used = figures(with_prelude(code.source), 90).at(code.name);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("Performance Loss"), std::string::npos);
    EXPECT_EQ(used.spill_stores, 0u);
    EXPECT_LE(used.stack_bytes, 16u);  // of a call that hardly happens
  }
}

std::vector<Fault> faults() {
  using namespace simt;
  const auto of_cluster = [](Statement& one) {
    const auto* const barrier = one.as<Barrier>();
    return barrier != nullptr && barrier->kind == Barrier::Kind::Cluster && (one = Note{"taken out"}, true);
  };
  const auto declared = [](const char* name, auto change) {
    return [=](Statement& one) {
      auto* const declare = one.as<Declare>();
      return declare != nullptr && declare->value && declare->what.name.str().starts_with(name) && (change(*declare->value), true);
    };
  };
  const auto one_less = [](Statement& one) {
    auto* const loop = one.as<Loop>();
    return loop != nullptr && loop->name == "other" && (--loop->end, true);
  };
  return {
      {"blocks do not meet before sums are sent", of_cluster, 0},
      {"blocks do not meet before sums are added", of_cluster, 1},
      {"sums are sent elsewhere", changed<SendWide>([](SendWide& send) { send.place = group(std::move(send.place)) + 2; })},
      {"sums are sent to another block", changed<SendWide>([](SendWide& send) { send.block = "block"; })},
      {"sums are not sent", without<SendWide>()},
      {"one number is sent", changed<SendWide>([](SendWide& send) { send.count = 1; })},
      {"sums of the first part are sent to all",
       changed<SendWide>([](SendWide& send) { return replaced(send.source, named("other"), [](const Expression&) { return 0; }); })},
      {"sums of all blocks come to one place",
       changed<SendWide>([](SendWide& send) { return replaced(send.place, named("block"), [](const Expression&) { return 0; }); })},
      {"a block takes an iteration more", declared("until", [](Expression& value) { value = group(std::move(value)) + 64; })},
      {"a block takes an iteration less", declared("share", [](Expression& value) { value = group(std::move(value)) - 64; })},
      {"blocks take the same iterations", declared("from", [](Expression& value) { value = 0; })},
      {"sums of the last part are not sent", one_less, 0},
      {"sums of the last block are left out", one_less, 1},
  };
}
TEST(SharedTermsFaults, AreFoundByTheVerifierOrTheMachine) {
  expect_found(faults(), sample_of({.tile = {64, 32, 64}, .b = From::Columns, .blocks = 4}, 72, 32, 592));
}

}  // namespace
}  // namespace tegula::gpu
