// Products that take what a product before them leaves, in registers, as attention has them: their values by the machine beside the interpreter's; what is
// decided; and faults put into the kernels, which the verifier or the machine must find.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/graph/node.h"
#include "tegula/ops/random.h"
#include "tegula/ops/tile_jit.h"
#include "tegula/simt/verify/verify.h"
#include "tests/support/half_kernels.h"
#include "tests/support/kernel_faults.h"
#include "tests/support/same_on_a_gpu.h"
#include "tests/support/tile_samples.h"

namespace kernels {
using namespace tegula::tile;

/// o += (q kᵀ) v of each of several planes, with the scores rounded to halves.
const auto chained =
    jit("chained", [](Ptr<BFloat16> q, Ptr<BFloat16> k, Ptr<BFloat16> v, Out<float> o, Int T, Const<int> D, Const<int> BM, Const<int> BN) {
      auto base = program_id(1) * T * D;
      auto m = program_id(0) * BM + arange(0, BM), d = arange(0, D);
      auto at = col(m) * D + row(d);
      auto qq = load(q + base + at, col(m) < T);
      auto acc = zeros<float>({BM, D});
      for (auto n0 : range(0, T, BN)) {
        auto n = n0 + arange(0, BN);
        auto there = col(n) * D + row(d);
        auto s = dot(qq, trans(load(k + base + there, col(n) < T)));
        acc = dot(cast<BFloat16>(s), load(v + base + there, col(n) < T), acc);
      }
      store(o + base + at, acc, col(m) < T);
    });
}  // namespace kernels

namespace tegula::gpu {
namespace {

using simt::Expression;
using simt::Kernel;
using simt::Statement;

struct Chain {
  std::int64_t planes, T, D, BM, BN;
};

tile::Program program_of(const Chain& c) {
  const Tensor x = uniform({c.planes, c.T, c.D}, 0, 1, {.dtype = bf16});
  const auto results =
      kernels::chained({tile::cdiv(c.T, c.BM), c.planes}, x, x, x, tile::out({c.planes, c.T, c.D}), c.T, int(c.D), int(c.BM), int(c.BN));
  return TileKernelOp::of(kernel_node(results).op())->program().program;
}
/// -1, 0 and 1, whose products halves and sums hold exactly.
Sample sample_of(const Chain& c) {
  const auto count = static_cast<std::size_t>(c.planes * c.T * c.D);
  const auto operand = [&](std::size_t by) {
    return TestArgument::filled(bf16, count, [by](std::size_t i) { return static_cast<double>((i * by + i / 7) % 3) - 1; });
  };
  return {"chained",
          program_of(c),
          {operand(5), operand(11), operand(13), TestArgument::empty(f32, count), TestArgument::scalar(static_cast<double>(c.T))},
          {.grids = {{tile::cdiv(c.T, c.BM), c.planes, 1}}}};
}
Specialisation known(bool maps = true) { return {.facts = {4, 4, 4, 4, kShort}, .maps = maps}; }

// More iterations than stages, and fewer; lengths that no tile divides.
const Chain kChains[] = {{2, 330, 64, 64, 64},  {1, 70, 128, 64, 128}, {3, 64, 64, 64, 64},
                         {2, 200, 64, 128, 64}, {1, 300, 128, 64, 64}, {2, 90, 32, 32, 32}};

TEST(ChainedProducts, LeaveOnTheMachineWhatTheInterpreterLeaves) {
  for (const Chain& chain : kChains) {
    const Sample sample = sample_of(chain);
    for (const int architecture : {90, 80})
      for (const Pace pace : {Pace::Even, Pace::Uneven})
        EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.architecture = architecture, .pace = pace}))
            << chain.T;
    EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.aligned = false}));
  }
}
TEST(ChainedProducts, PassTheVerifier) {
  for (const Chain& chain : kChains)
    for (const int architecture : {90, 80})
      for (const bool maps : {true, false})
        EXPECT_EQ(simt::faults(make_kernel(program_of(chain), known(maps), architecture)), std::vector<std::string>());
}
TEST(ChainedProducts, TakeScoresFromRegistersAndFetchTilesOneByOne) {
  const std::string text = generate(program_of({2, 330, 64, 64, 64}), known(), 90).source;
  EXPECT_NE(text.find("multiply_bf16_64_packed_right("), std::string::npos) << text;
  EXPECT_NE(text.find("multiply_bf16_64_fresh("), std::string::npos) << text;
  EXPECT_NE(text.find("Tiles come apart"), std::string::npos) << text;
  const std::string decided = decisions_of(program_of({2, 330, 64, 64, 64}), known(), 90);
  EXPECT_NE(decided.find("as threads hold them"), std::string::npos) << decided;
  EXPECT_NE(decided.find("one by one"), std::string::npos) << decided;
  EXPECT_EQ(decided.find("\nwritten "), std::string::npos) << decided;
}
/// The plane of a box is what the program multiplies by sizes of the launch, however that is bracketed.
TEST(ChainedProducts, BoxesLieInPlanes) {
  const simt::Kernel kernel = make_kernel(program_of({2, 330, 64, 64, 64}), known(), 90);
  ASSERT_EQ(kernel.maps.size(), 2u);
  for (const simt::TensorMap& map : kernel.maps) {
    ASSERT_EQ(map.planes.size(), 1u);
    EXPECT_EQ(map.planes[0].factors.size(), 2u);  // T and D
  }
}
TEST(ChainedProducts, CompileWithoutSpills) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const int architecture : {80, 90}) {
    for (const Chain& chain : {Chain{1, 256, 64, 64, 64}, {1, 256, 128, 64, 64}, {1, 256, 128, 64, 128}}) {
      if (architecture == 80 && chain.BN == 128) continue;
      const Generated code = generate(program_of(chain), known(), architecture);
      testing::internal::CaptureStderr();
      const auto used = figures(with_prelude(code.source), architecture).at(code.name);
      EXPECT_EQ(testing::internal::GetCapturedStderr().find("Potential Performance Loss"), std::string::npos) << chain.D;
      EXPECT_EQ(used.spill_stores, 0u) << architecture << " " << chain.D << " " << chain.BN;
      EXPECT_EQ(used.stack_bytes, 0u) << architecture << " " << chain.D << " " << chain.BN;
    }
  }
}

// ---- Faults.

std::vector<Fault> faults() {
  using namespace simt;
  const auto one_more = [](const Expression& e) { return Expression(e + 1); };
  const auto is_step = named("step");
  return {
      {"keys are not awaited", without<AwaitBytes>(), 0},
      {"values are not awaited", without<AwaitBytes>(), 1},
      {"values are awaited where keys are counted", changed<AwaitBytes>([](AwaitBytes& wait) {
         return replaced(
             wait.counter, [](const Expression& e) { return e.kind == Expression::Kind::Integer && e.integer > 1000; },
             [](const Expression& e) { return Expression(e.integer - 16); });
       }),
       1},
      {"the parity does not change",
       changed<Assign>([](Assign& one) { return one.target.is_name("parity") && (one.value = "parity", true); })},
      {"the stage is not counted on",
       changed<Assign>([](Assign& one) { return one.target.is_name("stage") && (one.value = "stage", true); })},
      {"a counter expects too few bytes", changed<ExpectBytes>([](ExpectBytes& one) { return one.bytes /= 2, true; }), 2},
      {"a tile is asked for one iteration late", changed<Declare>([&](Declare& one) {
         return one.what.name == "later" && one.value->operands[0].kind == Expression::Kind::Name &&
                replaced(
                    *one.value, [](const Expression& e) { return e.kind == Expression::Kind::Integer; },
                    [](const Expression& e) { return Expression(e.integer + 1); });
       })},
      {"keys come of another plane",
       changed<CopyBox>([&](CopyBox& box) { return !box.planes.empty() && (box.planes[0] = one_more(box.planes[0]), true); }), 0, true},
      {"keys come from a row too far", changed<CopyBox>([&](CopyBox& box) { return box.y = one_more(box.y), true; }), 0, true},
      {"products by keys are not awaited", without<AwaitProducts>(), 0},
      {"products by values are not awaited", without<AwaitProducts>(), 1},
      {"products by values are not closed", without<CloseProducts>(), 1},
      {"upper and lower rows of the scores are exchanged", changed<PackFragment>([](PackFragment& pack) {
         return pack.target.operands[2].integer % 2 == 0 && (++pack.target.operands[2].integer, true);
       }),
       0, true},
      {"scores of a step are those of its first half", changed<PackFragment>([](PackFragment& pack) {
         return replaced(pack.source, operation("+"), [](const Expression& e) { return e.operands[0]; });
       }),
       2, true},
      {"all steps multiply the first step's scores", changed<MultiplyTile>([&](MultiplyTile& product) {
         return product.registers && replaced(*product.registers, is_step, [](const Expression&) { return Expression(0); });
       })},
      {"all steps multiply the first step's values", changed<MultiplyTile>([&](MultiplyTile& product) {
         return product.registers && replaced(product.right.place, is_step, [](const Expression&) { return Expression(0); });
       })},
      {"the scores do not begin with zeros",
       changed<MultiplyTile>([](MultiplyTile& product) { return std::exchange(product.fresh, false); })},
      {"the scores begin with zeros at each step",
       changed<MultiplyTile>([](MultiplyTile& product) { return !product.fresh && !product.registers && (product.fresh = true); })},
      {"the sums of values begin with zeros in each iteration",
       changed<MultiplyTile>([](MultiplyTile& product) { return product.registers && (product.fresh = true); })},
      {"values are read by rows", changed<MultiplyTile>([](MultiplyTile& product) {
         return product.registers && !(product.right.by_terms = !product.right.by_terms);
       })},
  };
}

TEST(ChainedProductFaults, AreFoundByTheVerifierOrTheMachine) {
  expect_found(faults(), sample_of({2, 330, 64, 64, 64}), {Pace::Even, Pace::Uneven});
}

/// Barriers of the loop: behind the products by keys, and behind those by values.
TEST(ChainedProductFaults, NoBarrierOfTheLoopCanBeLeftOut) {
  const Sample sample = sample_of({2, 330, 64, 64, 64});
  for (std::size_t place = 0; place < 2; ++place) {
    std::vector<std::string> verified;
    bool shows = false;
    const auto put = [&](Kernel& kernel) {
      std::size_t places = 0;
      simt::for_each_statement(kernel.body, [&](Statement& statement) {
        auto* const loop = statement.as<simt::For>();
        if (!loop || !loop->program) return;
        simt::for_each_statement(loop->body, [&](Statement& inner) {
          if (inner.as<simt::Barrier>() && places++ == place) inner = simt::Note{"taken out"};
        });
      });
      EXPECT_EQ(places, 2u);
      verified = simt::faults(kernel);
    };
    for (const Pace pace : {Pace::Even, Pace::Uneven}) {
      try {
        shows = shows || !emulation_agrees(sample.program, sample.arguments, sample.run, {.pace = pace, .change_kernel = put});
      } catch (const Error&) { shows = true; }
    }
    EXPECT_TRUE(shows || !verified.empty()) << place;
  }
}

}  // namespace
}  // namespace tegula::gpu
