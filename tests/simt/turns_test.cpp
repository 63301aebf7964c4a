// Loops with several products for which a warp of its own copies, and at which groups of four warps take turns: which kernels are of that kind, their values by
// the machine beside the interpreter's, and faults put into them, which the verifier or the machine must find.

#include <algorithm>
#include <string>
#include <vector>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/graph/node.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/random.h"
#include "tegula/ops/tile_jit.h"
#include "tegula/simt/verify/numbers.h"
#include "tests/support/kernel_faults.h"
#include "tests/support/same_on_a_gpu.h"

namespace kernels {
using namespace tegula::tile;

/// o += (s - max(s)) v with s = q kᵀ, of keys before the sample's end, and a sum that changes its sign on the way; a branch is about the last ones.
const auto in_turn = jit("in_turn", [](Ptr<BFloat16> q, Ptr<BFloat16> k, Ptr<BFloat16> v, Ptr<std::int64_t> ends, Out<float> o, Int T,
                                       Const<int> D, Const<int> BM, Const<int> BN) {
  auto base = program_id(1) * T * D;
  auto m = program_id(0) * BM + arange(0, BM), d = arange(0, D);
  auto at = col(m) * D + row(d);
  auto qq = load(q + base + at, col(m) < T);
  auto end = load(ends + program_id(1));
  auto acc = zeros<float>({BM, D}), total = zeros<float>({BM, 1});
  for (auto n0 : range(0, end, BN, {.warp_specialize = true})) {
    auto n = n0 + arange(0, BN);
    auto there = col(n) * D + row(d);
    auto s = dot(qq, trans(load(k + base + there, col(n) < T)));
    if_(n0 + BN > end, [&] { s = where(row(n) < end, s, -100.0); });
    auto top = max(s, 1, Axis::Keep), p = where(s > -100.0, s - top, 0.0);
    total = total * where(top > 9.0, -1.0, 1.0) + sum(p, 1, Axis::Keep);
    acc = dot(cast<BFloat16>(p), load(v + base + there, col(n) < T), acc);
  }
  store(o + base + at, acc + total, col(m) < T);
});
}  // namespace kernels

namespace tegula::gpu {
namespace {

using simt::Expression;

struct Chain {
  std::int64_t planes, T, D, BM, BN;
};

tile::Program program_of(const Chain& c) {
  const Tensor x = uniform({c.planes, c.T, c.D}, 0, 1, {.dtype = bf16}), ends = zeros({c.planes}, i64);
  const auto results = kernels::in_turn({tile::cdiv(c.T, c.BM), c.planes}, x, x, x, ends, tile::out({c.planes, c.T, c.D}), c.T, int(c.D),
                                        int(c.BM), int(c.BN));
  return TileKernelOp::of(kernel_node(results).op())->program().program;
}
/// -1, 0 and 1, whose products halves and sums hold exactly. The second plane has fewer keys, the third none.
Sample sample_of(const Chain& c) {
  const auto count = static_cast<std::size_t>(c.planes * c.T * c.D);
  const auto operand = [&](std::size_t by) {
    return TestArgument::filled(bf16, count, [by](std::size_t i) { return static_cast<double>((i * by + i / 7) % 3) - 1; });
  };
  const auto end = [&](std::size_t plane) { return static_cast<double>(plane == 0 ? c.T : plane == 1 ? c.T / 3 : 0); };
  return {"in_turn",
          program_of(c),
          {operand(5), operand(11), operand(13), TestArgument::filled(i64, static_cast<std::size_t>(c.planes), end),
           TestArgument::empty(f32, count), TestArgument::scalar(static_cast<double>(c.T))},
          {.grids = {{tile::cdiv(c.T, c.BM), c.planes, 1}}}};
}
Specialisation known() { return {.facts = {4, 4, 4, 4, 4, kShort}, .maps = true}; }

// One group, two, two of 128 rows each; more iterations than stages, and fewer; lengths that no tile divides; registers for one product at a time.
const Chain kChains[] = {{2, 330, 64, 64, 64}, {3, 330, 64, 128, 64}, {2, 300, 128, 128, 128},
                         {3, 70, 64, 128, 64}, {1, 270, 64, 256, 64}, {1, 200, 64, 256, 128}};
/// Whether an iteration's second product goes on beside the next one's first.
bool goes_on(const Chain& chain) { return chain.BM > 64 && (chain.BM < 256 || chain.BN < 128); }

TEST(Turns, LeaveOnTheMachineWhatTheInterpreterLeaves) {
  for (const Chain& chain : kChains) {
    const Sample sample = sample_of(chain);
    for (const Pace pace : {Pace::Even, Pace::Uneven})
      EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.pace = pace})) << chain.T << " " << chain.BM;
  }
  const Sample sample = sample_of({2, 70, 64, 128, 64});
  EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.aligned = false}));
}
TEST(Turns, PassTheVerifier) {
  for (const Chain& chain : kChains)
    EXPECT_EQ(simt::faults(make_kernel(program_of(chain), known(), 90)), std::vector<std::string>()) << chain.BM;
}
TEST(Turns, AreOfGroupsForWhichAWarpCopies) {
  for (const Chain& chain : kChains) {
    const Generated code = generate(program_of(chain), known(), 90);
    EXPECT_FALSE(code.stays);
    EXPECT_EQ(code.threads, std::min<std::int64_t>(2 * chain.BM, 256) + (chain.BM > 64 ? 128 : 32));
    EXPECT_EQ(code.source.find("take_registers<240>()") != std::string::npos, chain.BM > 64) << code.source;
    EXPECT_EQ(code.source.find("await_products<1>()") != std::string::npos, goes_on(chain)) << code.source;
    EXPECT_EQ(code.source.find("wait_at(") != std::string::npos, chain.BM > 64) << code.source;
    EXPECT_NE(code.source.find("Copies for the others."), std::string::npos) << code.source;
  }
  Specialisation without_maps = known();
  without_maps.maps = false;
  EXPECT_EQ(generate(program_of(kChains[1]), without_maps, 90).threads, 256);
  EXPECT_EQ(generate(program_of(kChains[1]), known(), 80).source.find("wait_at("), std::string::npos);
}
TEST(Turns, CompileWithoutSpills) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const Chain& chain : {kChains[1], kChains[2]}) {
    const Generated code = generate(program_of(chain), known(), 90);
    testing::internal::CaptureStderr();
    const auto used = figures(with_prelude(code.source), 90).at(code.name);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("Potential Performance Loss"), std::string::npos) << chain.D;
    EXPECT_EQ(used.spill_stores, 0u) << chain.D;
    EXPECT_EQ(used.stack_bytes, 0u) << chain.D;
  }
}

std::vector<Fault> faults() {
  using namespace simt;
  const auto elsewhere = [](Expression& counter) { counter = std::move(counter) + 8; };
  const auto turn = [](bool waits, const std::function<void(Statement&)>& change) {
    return [=](Statement& one) {
      const auto* const barrier = one.as<NumberedBarrier>();
      return barrier != nullptr && barrier->waits == waits && (change(one), true);
    };
  };
  const auto taken_out = [](Statement& one) { one = Note{"taken out"}; };
  const auto twice = [](Statement& one) { one = Scope{{one, one}}; };
  const auto to_itself = [](Statement& one) { one.as<NumberedBarrier>()->number = Expression(NumberedBarrier::kFirstTurn) + "group"; };
  const auto of_each = [](int threads) {
    return [threads](Statement& one) {
      return one.as<Arrive>() != nullptr && (one.when = binary(group(binary(thread_index(), "&", threads - 1)), "==", 0), true);
    };
  };
  const auto of_one_group = [](Statement& one) { one.as<NumberedBarrier>()->threads = 128; };
  return {
      {"the first keys are not awaited", without<AwaitBytes>(), 0},
      {"keys are not awaited", without<AwaitBytes>(), 1},
      {"values are not awaited", without<AwaitBytes>(), 2},
      {"the last values are not awaited", without<AwaitBytes>(), 3},
      {"free stages of keys are not awaited", without<AwaitBytes>(), 4},
      {"free stages of values are not awaited", without<AwaitBytes>(), 5},
      {"another stage is awaited", changed<AwaitBytes>([&](AwaitBytes& wait) { elsewhere(wait.counter); }), 2},
      {"nobody says that the first keys are free", without<Arrive>(), 0},
      {"nobody says that keys are free", without<Arrive>(), 1},
      {"nobody says that values are free", without<Arrive>(), 2},
      {"another stage is said to be free", changed<Arrive>([&](Arrive& arrive) { elsewhere(arrive.counter); }), 1},
      {"each warp says that keys are free", of_each(32), 1},
      {"one group says that tiles are free for both",
       [](Statement& one) {
         auto* const begin = one.as<BeginCounters>();
         if (begin != nullptr && begin->arrivals > 1) return begin->arrivals = 1, true;
         return one.as<Arrive>() != nullptr && (one.when = binary("threadIdx.x", "==", 0), true);
       },
       0, true},
      {"a group too few is counted", changed<BeginCounters>([](BeginCounters& begin) { begin.arrivals -= begin.arrivals > 1; }), 1},
      {"a group too many is counted", changed<BeginCounters>([](BeginCounters& begin) { begin.arrivals += begin.arrivals > 1; }), 1},
      {"counters of values do not begin", changed<BeginCounters>([](BeginCounters& begin) { begin.count /= 2; }), 1},
      {"a box too few is expected", changed<ExpectBytes>([](ExpectBytes& expect) { expect.bytes /= 2; }), 1},
      {"the first products by keys are not awaited", without<AwaitProducts>(), 0},
      {"products by keys are not awaited", without<AwaitProducts>(), 1},
      {"products by values are not awaited", without<AwaitProducts>(), 2},
      {"products by the last values are not awaited", without<AwaitProducts>(), 3},
      {"the first products by keys may go on", changed<AwaitProducts>([](AwaitProducts& wait) { ++wait.unfinished; }), 0},
      {"products by keys may go on", changed<AwaitProducts>([](AwaitProducts& wait) { ++wait.unfinished; }), 1},
      {"products by values may go on", changed<AwaitProducts>([](AwaitProducts& wait) { ++wait.unfinished; }), 2},
      {"a warp leaves its group's products",
       [](Statement& one) { return one.as<CloseProducts>() != nullptr && (one.when = binary(thread_index(), ">=", 32), true); }, 1},
      {"values of this iteration are said to be free", changed<Arrive>([](Arrive& arrive) {
         arrive.counter = Expression(arrive.counter) + Expression("stage") * 8 - Expression("stage_behind") * 8;
       }),
       2},
      {"the stage behind does not change", stays("stage_behind"), 1},
      {"the parity behind does not change", stays("parity_behind"), 1},
      {"the first iteration comes twice", changed<For>([](For& loop) {
         const bool is_behind = loop.program && loop.begin.kind == Expression::Kind::Binary;
         return is_behind && (loop.begin = Expression(loop.begin.operands[0]), true);
       })},
      {"the loop goes on when there is no iteration",
       [](Statement& one) {
         const auto* const branch = one.as<Branch>();
         return branch != nullptr && loop_behind_first(*branch) != nullptr && (one = Scope{branch->then}, true);
       }},
      {"shares of a sum are not multiplied on the way", changed<Assign>([](Assign& assign) {
         const bool adds = assign.value.kind == Expression::Kind::Call && assign.value.name == "fmaf";
         return adds && (assign.value = assign.value.operands[0] + assign.value.operands[2], true);
       }),
       0, true},
      {"shares of a sum are not brought together", without<Combine>(), 2},
      {"nobody gives registers back", without<MoveRegisters>(), 1},
      {"more registers are taken than are given back", changed<MoveRegisters>([](MoveRegisters& move) { move.count += 8; }), 0},
      {"too few registers are given back", changed<MoveRegisters>([](MoveRegisters& move) { move.count += 8; }), 1},
      {"registers are given back where they are needed", changed<MoveRegisters>([](MoveRegisters& move) { move.takes = !move.takes; }), 0},
      {"the copies ahead of the loop are not awaited", without<WaitForCopies>(), 0},
      {"the parity of who copies does not change", stays("parity"), 2},
      {"the first turn is not given", turn(false, taken_out), 0},
      {"a turn is not given on in the first iteration", turn(false, taken_out), 1},
      {"a turn is not given on", turn(false, taken_out), 2},
      {"a turn is not awaited in the first iteration", turn(true, taken_out), 0},
      {"a turn is not awaited", turn(true, taken_out), 1},
      {"nobody takes the last turn", turn(true, taken_out), 2},
      {"all groups take a last turn", turn(true, [](Statement& one) { one.when = {}; }), 2},
      {"a turn is given twice", turn(false, twice), 2},
      {"the first turn is given twice", turn(false, twice), 0},
      {"a turn is awaited twice", turn(true, twice), 1},
      {"a group gives itself the turn", turn(false, to_itself), 1},
      {"a turn needs nobody else", turn(true, of_one_group), 1},
      {"a group leaves early",
       [](Statement& one) { return one.as<Arrive>() != nullptr && (one = Statement(Leave{}, binary("group", "==", 1)), true); }, 1},
  };
}
/// Of products that are awaited where their sums are named, and of which each is begun in its own iteration.
std::vector<Fault> faults_of_waits() {
  using namespace simt;
  const auto goes_on = changed<AwaitProducts>([](AwaitProducts& wait) { ++wait.unfinished; });
  return {
      {"products by keys may go on", goes_on, 0},
      {"products by values may go on", goes_on, 1},
      {"products by keys are not awaited", without<AwaitProducts>(), 0},
      {"products by values are not awaited", without<AwaitProducts>(), 1},
      {"products by keys are not closed", without<CloseProducts>(), 0},
      {"nobody says that values are free", without<Arrive>(), 1},
      {"a turn is not given on",
       [](Statement& one) {
         const auto* const barrier = one.as<NumberedBarrier>();
         return barrier != nullptr && !barrier->waits && (one = Note{"taken out"}, true);
       },
       1},
  };
}
TEST(TurnFaults, OfWaitsAreFoundByTheVerifierOrTheMachine) { expect_found(faults_of_waits(), sample_of({1, 200, 64, 256, 128})); }
TEST(TurnFaults, AreFoundByTheVerifierOrTheMachine) { expect_found(faults(), sample_of({3, 200, 64, 128, 64})); }

}  // namespace
}  // namespace tegula::gpu
