// Products of which the blocks of a cluster have parts of the sums, and bring each other the operand that all of them need (TMA multicast): which kernels are of that
// kind, their values by the machine beside the interpreter's, and faults put into them, which the verifier or the machine must find.

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
bool shares_boxes(const TensorProduct& p, const Specialisation& facts = known()) {
  const Generated code = code_of(p, facts);
  return code.cluster > 1 && code.source.find("share_box<") != std::string::npos;
}

TEST(MulticastDecisions, AreOfLoopsThatAskForItBesideAWarpThatCopies) {
  EXPECT_TRUE(shares_boxes({.tile = {128, 64, 64}, .roles = true, .blocks = 2}));
  EXPECT_EQ(code_of({.tile = {256, 64, 64}, .roles = true, .blocks = 4}).cluster, 4);
  EXPECT_EQ(code_of({.tile = {256, 64, 64}, .roles = true, .blocks = 7}).cluster, 4);  // a power of two
  EXPECT_EQ(code_of({.tile = {128, 64, 64}, .roles = true, .blocks = 8}).cluster, 2);  // of 64 rows
  EXPECT_FALSE(shares_boxes({.tile = {64, 64, 64}, .roles = true, .blocks = 2}));
  EXPECT_FALSE(shares_boxes({.tile = {128, 64, 64}, .blocks = 2}));  // which share the terms
  EXPECT_FALSE(shares_boxes({.tile = {128, 64, 64}, .roles = true}));
  EXPECT_FALSE(shares_boxes({.tile = {256, 256, 64}, .out = bf16}));
  EXPECT_FALSE(shares_boxes({.tile = {128, 64, 64}, .boxes = false, .roles = true, .blocks = 2}));  // threads copy
  EXPECT_FALSE(shares_boxes({.tile = {128, 64, 64}, .a = From::Computed, .roles = true, .blocks = 2}));
  Specialisation guarded = known();
  guarded.guarded = true;
  EXPECT_FALSE(shares_boxes({.tile = {128, 64, 64}, .roles = true, .blocks = 2}, guarded));
  EXPECT_EQ(generate(program_of({.tile = {128, 64, 64}, .roles = true, .blocks = 2}), known(), 80).cluster, 1);
}
TEST(MulticastDecisions, CutTheLongerSide) {
  const auto parts = [](const TensorProduct& p) {
    const simt::Kernel kernel = make_kernel(program_of(p), known(), 90);
    return std::pair(kernel.rows_apart, kernel.columns_apart);
  };
  EXPECT_EQ(parts({.tile = {256, 256, 64}, .roles = true, .blocks = 2}), std::pair(128, 0));
  EXPECT_EQ(parts({.tile = {64, 512, 64}, .roles = true, .blocks = 2}), std::pair(0, 256));
  EXPECT_EQ(parts({.tile = {64, 64, 64}, .roles = true}), std::pair(0, 0));
}

class Multicast : public testing::TestWithParam<TensorProduct> {};

TEST_P(Multicast, LeaveOnTheMachineWhatTheInterpreterLeaves) {
  EXPECT_TRUE(shares_boxes(GetParam()));
  for (const auto& [M, N, K] : {std::array{200, 72, 344}, {72, 136, 16}, {64, 64, 0}}) {
    const Sample sample = sample_of(GetParam(), M, N, K);
    for (const Pace pace : {Pace::Even, Pace::Uneven, Pace::Uneven})
      EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.pace = pace})) << M;
  }
}
TEST_P(Multicast, PassTheVerifier) {
  EXPECT_EQ(simt::faults(make_kernel(program_of(GetParam()), known(), 90)), std::vector<std::string>());
}
INSTANTIATE_TEST_SUITE_P(
    , Multicast,
    testing::Values(TensorProduct{.tile = {128, 64, 64}, .roles = true, .blocks = 2},
                    TensorProduct{.tile = {128, 128, 64}, .out = bf16, .roles = true, .bulk = true, .blocks = 2},  // shares are strips
                    TensorProduct{.tile = {128, 64, 64}, .out = bf16, .b = From::Columns, .roles = true, .blocks = 2},
                    TensorProduct{.tile = {64, 128, 64}, .out = bf16, .roles = true, .bulk = true, .blocks = 2},
                    TensorProduct{.tile = {64, 128, 64}, .b = From::Transposed, .roles = true, .blocks = 2},
                    TensorProduct{.tile = {64, 256, 64}, .a = From::Columns, .doubled = true, .roles = true, .blocks = 4},
                    TensorProduct{.tile = {256, 64, 32}, .out = bf16, .a = From::Columns, .b = From::Columns, .roles = true, .blocks = 4},
                    TensorProduct{.tile = {256, 64, 64}, .stored = f16, .stages = 2, .roles = true, .blocks = 2},
                    TensorProduct{.tile = {128, 64, 128}, .stored = e4m3, .b = From::Columns, .imprecise = 64, .roles = true, .blocks = 2},
                    TensorProduct{.tile = {64, 128, 64}, .stored = i8, .out = i32, .b = From::Columns, .roles = true, .blocks = 2}),
    [](const auto& info) { return name_of(info.param); });

TEST(MulticastTexts, CompileWithoutSpills) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const TensorProduct& p : {TensorProduct{.tile = {256, 256, 64}, .out = bf16, .roles = true, .bulk = true, .blocks = 2},
                                 {.tile = {128, 512, 64}, .out = bf16, .b = From::Columns, .roles = true, .bulk = true, .blocks = 2},
                                 {.tile = {256, 256, 64}, .out = bf16, .b = From::Columns, .roles = true, .blocks = 2}}) {
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
  const auto elsewhere = [](Expression& counter) { counter = std::move(counter) + 8; };
  const auto is_shared = [](const CopyBox& copy) { return copy.blocks != 0; };
  const auto of_cluster = [](auto change) {
    return [change](Statement& one) {
      auto* const barrier = one.as<Barrier>();
      return barrier != nullptr && barrier->kind == Barrier::Kind::Cluster && (change(one, *barrier), true);
    };
  };
  const auto taken_out = of_cluster([](Statement& one, Barrier&) { one = Note{"taken out"}; });
  const auto of_block = of_cluster([](Statement&, Barrier& barrier) { barrier.kind = Barrier::Kind::Block; });
  return {
      {"blocks do not meet behind the begin of counters", taken_out, 0},
      {"the warps of a block meet there, not those of the other one", of_block, 0},
      {"blocks do not meet at the end", taken_out, 1},
      {"the warps of a block meet at the end, not those of the other one", of_block, 1},
      {"a stage is said to be free to the own block only", changed<Arrive>([](Arrive& arrive) { arrive.block = {}; }), 0, true},
      {"a stage is said to be free to the first block only", changed<Arrive>([](Arrive& arrive) { arrive.block = 0; }), 0, true},
      {"nobody says to the second block that a stage is free",
       [](Statement& one) {
         return one.as<Arrive>() != nullptr && replaced(*one.when, operation("<"), [](const Expression& e) { return e.operands[0] < 1; });
       },
       0, true},
      {"the last stage is not said to be free", without<Arrive>(), 1},
      {"another stage is said to be free", changed<Arrive>([&](Arrive& arrive) { elsewhere(arrive.counter); }), 0, true},
      {"a stage is free too early", changed<Arrive>([](Arrive& arrive) {
         arrive.counter = Expression(arrive.counter) + Expression("stage") * 8 - Expression("behind") * 8;
       }),
       0},
      {"a block that does not exist is told", changed<Arrive>([](Arrive& arrive) { arrive.block = *arrive.block + 1; }), 0, true},
      {"the warps of one block are counted",
       changed<BeginCounters>([](BeginCounters& begin) { return begin.arrivals > 1 && (begin.arrivals /= 2, true); })},
      {"a warp more is counted",
       changed<BeginCounters>([](BeginCounters& begin) { return begin.arrivals > 1 && (++begin.arrivals, true); })},
      {"a share comes to the own block only", changed<CopyBox>([&](CopyBox& copy) { return is_shared(copy) && (copy.blocks = 0, true); })},
      {"a share comes to the first block only",
       changed<CopyBox>([&](CopyBox& copy) { return is_shared(copy) && (copy.blocks = 1, true); })},
      {"a share comes to a block more", changed<CopyBox>([&](CopyBox& copy) { return is_shared(copy) && (copy.blocks = 7, true); })},
      {"the own part comes to both blocks", changed<CopyBox>([&](CopyBox& copy) { return !is_shared(copy) && (copy.blocks = 3, true); })},
      {"both blocks bring the first share", changed<CopyBox>([&](CopyBox& copy) {
         return is_shared(copy) && replaced(copy.y, named("block"), [](const Expression&) { return 0; });
       })},
      {"both shares come to the same place", changed<CopyBox>([&](CopyBox& copy) {
         return is_shared(copy) && replaced(copy.place, named("block"), [](const Expression&) { return 0; });
       })},
      {"both blocks have the first part", changed<CopyBox>([&](CopyBox& copy) {
         return !is_shared(copy) && replaced(copy.y, named("block"), [](const Expression&) { return 0; });
       })},
      {"a share is left out",
       [&](Statement& one) {
         const auto* const copy = one.as<CopyBox>();
         return copy != nullptr && is_shared(*copy) && (one = Note{"taken out"}, true);
       }},
      {"a share counts elsewhere", changed<CopyBox>([&](CopyBox& copy) { return is_shared(copy) && (elsewhere(copy.counter), true); })},
      {"bytes of the own boxes are expected", changed<ExpectBytes>([](ExpectBytes& expect) { expect.bytes -= 8192; })},
      {"bytes of a third share are expected", changed<ExpectBytes>([](ExpectBytes& expect) { expect.bytes += 8192; })},
      {"no bytes are expected", without<ExpectBytes>()},
      {"free stages are not awaited", without<AwaitBytes>(), 1},
      {"full stages are not awaited", without<AwaitBytes>(), 0},
      {"stages are not free at first", changed<AwaitBytes>([](AwaitBytes& wait) { wait.parity = "parity"; }), 1},
      {"the phase ahead of the first is awaited", changed<AwaitBytes>([](AwaitBytes& wait) { wait.parity = binary(1, "-", wait.parity); }),
       0},
      {"the parity of who copies does not change", stays("parity"), 1},
      {"products are not awaited before their stage is free", changed<AwaitProducts>([](AwaitProducts& wait) { ++wait.unfinished; }), 0},
      {"products are of the other block's rows", changed<MultiplyTile>([](MultiplyTile& product) {
         product.left.place = Expression(product.left.place) + Expression("block") * 8192;
       })},
      {"results are stored to the other block's rows",
       changed<StoreBox>([](StoreBox& box) { box.y = std::move(box.y) - Expression("block") * 64; })},
  };
}
TEST(MulticastFaults, AreFoundByTheVerifierOrTheMachine) {
  expect_found(faults(), sample_of({.tile = {128, 64, 64}, .out = bf16, .roles = true, .bulk = true, .blocks = 2}, 264, 40, 344),
               {Pace::Even, Pace::Uneven});
}

}  // namespace
}  // namespace tegula::gpu
