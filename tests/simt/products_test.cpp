// Products of tiles by tensor cores: their values by the machine beside those of the interpreter, for all ways in which operands come; what the generator decides;
// and faults put into the kernels, which the verifier or the machine must find.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tegula/bench/tile_product.h"
#include "tegula/core/error.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/graph/node.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/random.h"
#include "tegula/simt/decide/decisions.h"
#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/layouts/rows.h"
#include "tegula/simt/verify/verify.h"
#include "tests/support/emulated_check.h"
#include "tests/support/golden.h"
#include "tests/support/half_kernels.h"
#include "tests/support/kernel_faults.h"
#include "tests/support/same_on_a_gpu.h"
#include "tests/support/tensor_products.h"

namespace tegula::gpu {
namespace {

using simt::Block;
using simt::Expression;
using simt::Kernel;
using simt::Statement;

std::vector<TensorProduct> all_products() {
  std::vector<TensorProduct> all;
  for (const From a : {From::Rows, From::Columns, From::Transposed, From::Computed})
    for (const From b : {From::Rows, From::Columns, From::Transposed, From::Computed})
      all.push_back({.tile = {64, 32, 16}, .a = a, .b = b});
  for (const DType dtype : {f16, i8, u8, e4m3, e5m2})
    for (const From b : {From::Rows, From::Columns, From::Computed})
      all.push_back({.stored = dtype, .out = is_float(dtype) ? f32 : i32, .b = b});
  all.push_back({.tile = {16, 16, 16}});
  all.push_back({.tile = {32, 64, 64}, .stored = f16, .out = f16, .doubled = true});
  all.push_back({.tile = {64, 64, 32}, .out = bf16, .doubled = true, .added = true});
  all.push_back({.added = true, .stages = 1});
  all.push_back({.added = true, .stages = 5});
  for (const DType dtype : {f16, bf16})
    all.push_back({.tile = {64, 64, 16}, .stored = dtype, .out = dtype}),
        all.push_back({.tile = {128, 32, 16}, .stored = dtype, .out = dtype});
  // By four warps together.
  for (const From a : {From::Rows, From::Columns, From::Computed})
    for (const From b : {From::Rows, From::Transposed, From::Computed}) all.push_back({.tile = {64, 64, 32}, .a = a, .b = b});
  for (const Tile3 tile : {Tile3{64, 64, 64}, {128, 64, 16}, {64, 128, 128}, {256, 64, 64}}) {
    all.push_back({.tile = tile, .stored = f16});
    all.push_back({.tile = tile, .b = From::Columns});
  }
  for (const bool boxes : {true, false})
    for (const int stages : {1, 2, 5}) all.push_back({.tile = {64, 64, 64}, .out = bf16, .added = true, .stages = stages, .boxes = boxes});
  for (const From b : {From::Rows, From::Columns}) all.push_back({.tile = {128, 128, 64}, .b = b, .boxes = false});
  for (const DType dtype : {e4m3, e5m2, i8, u8}) {
    const DType out = is_float(dtype) ? f32 : i32;
    for (const From b : {From::Rows, From::Columns, From::Computed})
      all.push_back({.tile = {64, 64, 32}, .stored = dtype, .out = out, .b = b});
    all.push_back({.tile = {64, 64, 64}, .stored = dtype, .out = out, .a = From::Columns, .b = From::Columns});
    for (const int stages : {1, 2, 0})
      all.push_back({.tile = {128, 64, 128}, .stored = dtype, .out = out, .b = From::Transposed, .added = stages == 2, .stages = stages});
  }
  for (const int warps : {1, 2, 8, 16}) all.push_back({.tile = {64, 64, 32}, .boxes = warps == 8, .warps = warps});
  all.push_back({.tile = {256, 32, 64}, .b = From::Columns, .warps = 16});
  for (const int terms : {32, 64, 128})
    for (const From b : {From::Rows, From::Columns}) all.push_back({.tile = {64, 64, 128}, .stored = e4m3, .b = b, .imprecise = terms});
  return all;
}
/// Sizes that no tile divides; `odd`: nor 16 bytes.
Sample sample_of(const TensorProduct& p, bool odd) { return odd ? sample_of(p, 45, 51, 77) : sample_of(p, 72, 48, 80); }

Specialisation known() { return {.facts = {4, 4, 4, 4 | kShort, 4 | kShort, 4 | kShort}}; }
bool multiplies_in_groups(const std::string& text) { return text.find("await_products") != std::string::npos; }
bool multiplies(const std::string& text) { return text.find("multiply(") != std::string::npos || multiplies_in_groups(text); }

class Products : public testing::TestWithParam<TensorProduct> {};

TEST_P(Products, LeaveOnTheMachineWhatTheInterpreterLeaves) {
  for (const bool odd : {false, true}) {
    const Sample sample = sample_of(GetParam(), odd);
    for (const bool aligned : {true, false}) {
      for (const Pace pace : {Pace::Even, Pace::Uneven})
        EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.aligned = aligned, .pace = pace}));
    }
  }
}
TEST_P(Products, AreTakenByTensorCoresAndPassTheVerifier) {
  for (const Specialisation& facts : {known(), Specialisation{.facts = std::vector<std::uint8_t>(6)}}) {
    EXPECT_TRUE(multiplies(generate(program_of(GetParam()), facts, 90).source));
    EXPECT_TRUE(simt::faults(make_kernel(program_of(GetParam()), facts, 90)).empty());
  }
}
INSTANTIATE_TEST_SUITE_P(, Products, testing::ValuesIn(all_products()), [](const auto& info) { return name_of(info.param); });

// Whole kernels, in the language: p is rounded where the machine has other digits of exp2, so that a few sums differ by an element of p.
TEST(ProductKernels, AttendLikeTheInterpreter) {
  for (const auto& [T, D, BM, BN] :
       {std::array{70, 32, 32, 32}, {40, 64, 16, 32}, {70, 16, 32, 64}, {100, 64, 64, 64}, {100, 128, 64, 64}}) {
    const Tensor q = uniform({2, T, D}, 0, 1, {.dtype = bf16}), k = uniform({2, T, D}, 0, 1, {.dtype = bf16}),
                 v = uniform({2, T, D}, 0, 1, {.dtype = bf16});
    const auto results =
        kernels::half_attention({tile::cdiv(std::int64_t{T}, std::int64_t{BM}), 2}, q, k, v, tile::out({2, T, D}), T, D, BM, BN);
    EXPECT_TRUE(same_on_a_gpu(results, {(T + BM - 1) / BM, 2, 1}, {T}, 1 << 15)) << T << " " << D << " " << BM << " " << BN;
    EXPECT_TRUE(
        multiplies(generate(TileKernelOp::of(kernel_node(results).op())->program().program, {.facts = {4, 4, 4, 4, kShort}}, 90).source));
  }
}
TEST(ProductKernels, MultiplyInTf32LikeTheInterpreter) {
  const Tensor a = uniform({70, 40}), b = uniform({40, 37});  // of one sign: sums in another order differ in the last digits
  for (const auto& [BM, BN, BK] : {std::array{32, 32, 16}, {64, 32, 8}, {64, 64, 32}, {128, 32, 64}}) {
    const Dims grid{tile::cdiv(std::int64_t{70}, std::int64_t{BM}), tile::cdiv(std::int64_t{37}, std::int64_t{BN})};
    const auto results = kernels::tf32_product(grid, a, b, tile::out({70, 37}), 70, 37, 40, BM, BN, BK);
    EXPECT_TRUE(same_on_a_gpu(results, {grid[0], grid[1], 1}, {70, 37, 40}, 64)) << BM;
    const Generated code =
        generate(TileKernelOp::of(kernel_node(results).op())->program().program, {.facts = {4, 4, 4, kShort, kShort, kShort}}, 90);
    EXPECT_TRUE(multiplies(code.source));
    EXPECT_EQ(multiplies_in_groups(code.source), BM >= 64);
  }
}

/// A precision is one of f32: halves are multiplied as they are.
TEST(ProductKernels, MultiplyHalvesAsSuchWhateverThePrecision) {
  const Tensor a = uniform({64, 64}, 0, 1, {.dtype = bf16});
  const auto results = tile_product(a, a, false, {.rows = 64, .columns = 64, .terms = 32});
  const tile::Program program = TileKernelOp::of(kernel_node({results}).op())->program().program;
  EXPECT_NE(decisions_of(program, {.facts = {4, 4, 4, 4, 4, 4}}, 90).find("bf16 by tensor cores"), std::string::npos);
}
TEST(ProductKernels, TakeTheHintsOfAConfiguration) {
  const Tensor a = uniform({70, 40}), b = uniform({40, 37});
  const auto threads = [&](const auto& kernel) {
    const auto results = kernel(Dims{1, 2}, a, b, tile::out({70, 37}), 70, 37, 40, 128, 32, 16);
    return generate(TileKernelOp::of(kernel_node(results).op())->program().program, {.facts = {4, 4, 4, kShort, kShort, kShort}}, 90)
        .threads;
  };
  EXPECT_EQ(threads(kernels::tf32_product), 256);
  EXPECT_EQ(threads(kernels::tf32_product.tune({{.num_warps = 4}})), 128);
}

TEST(ProductTexts, LeaveTheBitsThatTheMachineLeaves) {
  for (const TensorProduct& p : {TensorProduct{.tile = {64, 32, 16}},
                                 {.a = From::Transposed, .b = From::Computed},
                                 {.stored = e4m3, .b = From::Columns},
                                 {.stored = i8, .out = i32}}) {
    const Sample sample = sample_of(p, false);
    EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.architecture = 89, .text = true})) << sample.name;
  }
}

TEST(ProductTexts, HaveTheirGoldenForms) {
  EXPECT_TRUE(
      test::is_golden("product_bf16", test::with_figures(generate(program_of({.tile = {128, 128, 32}, .out = bf16}), known(), 80))));
  EXPECT_TRUE(
      test::is_golden("product_bf16_groups", test::with_figures(generate(program_of({.tile = {128, 128, 64}, .out = bf16}), known(), 90))));
  EXPECT_TRUE(
      test::is_golden("product_e4m3_computed",
                      test::with_figures(generate(program_of({.stored = e4m3, .a = From::Computed, .b = From::Columns}), known(), 90))));
}

TEST(ProductTexts, CompileForEachArchitectureThatHasThem) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const int architecture : {80, 89, 90}) {
    for (const DType dtype : {bf16, f16, i8, u8, e4m3, e5m2}) {
      const TensorProduct p{.tile = {64, 64, 32}, .stored = dtype, .out = is_float(dtype) ? f32 : i32, .b = From::Columns};
      const Generated code = generate(program_of(p), known(), architecture);
      EXPECT_EQ(multiplies(code.source), architecture >= 89 || !is_float8(dtype)) << name(dtype) << " " << architecture;
      EXPECT_EQ(multiplies_in_groups(code.source), architecture == 90);
      EXPECT_GT(compile_cubin(with_prelude(code.source), architecture).size(), 1000u);
    }
  }
}
/// Neither spilled, nor in an array in memory; and without ptxas' remark that products wait for each other, which NVRTC writes to stderr.
void expect_sums_in_registers(const Generated& code, int architecture, const std::string& what) {
  testing::internal::CaptureStderr();
  const auto used = figures(with_prelude(code.source), architecture).at(code.name);
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("Potential Performance Loss"), std::string::npos) << what;
  EXPECT_LE(used.registers, 255) << what;
  EXPECT_EQ(used.stack_bytes, 0u) << what;
  EXPECT_EQ(used.spill_stores, 0u) << what;
}
TEST(ProductTexts, KeepAllSumsInRegisters) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const int architecture : {80, 90}) {
    for (const Tile3 tile : {Tile3{128, 128, 64}, {128, 256, 64}, {256, 128, 64}, {128, 256, 32}, {64, 64, 64}}) {
      if (architecture == 80 && tile.m * tile.n > 128 * 128) continue;
      for (const TensorProduct& p : {TensorProduct{.tile = tile, .out = bf16}, {.tile = tile, .b = From::Columns}})
        expect_sums_in_registers(generate(program_of(p), known(), architecture), architecture, name_of(p));
    }
  }
}
TEST(ProductTexts, KeepSumsOfBytesInRegisters) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const DType dtype : {e4m3, i8})
    for (const Tile3 tile : {Tile3{128, 128, 128}, {128, 256, 128}})
      for (const int imprecise : {0, 128}) {
        if (imprecise > 0 && (dtype == i8 || tile.n > 128)) continue;  // twice the sums
        const TensorProduct p{
            .tile = tile, .stored = dtype, .out = is_float(dtype) ? bf16 : i32, .b = From::Columns, .imprecise = imprecise};
        expect_sums_in_registers(generate(program_of(p), known(), 90), 90, name_of(p));
      }
}
TEST(ProductTexts, KeepTheSumsOfAttentionInRegisters) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const int D : {64, 128}) {
    const Tensor x = uniform({1, 128, D}, 0, 1, {.dtype = bf16});
    const auto results = kernels::half_attention({2, 1}, x, x, x, tile::out({1, 128, D}), 128, D, 64, 64);
    const Generated code = generate(TileKernelOp::of(kernel_node(results).op())->program().program, {.facts = {4, 4, 4, 4, kShort}}, 90);
    expect_sums_in_registers(code, 90, "D " + std::to_string(D));
  }
}

// ---- What is decided.

std::string decided(const TensorProduct& p, int architecture = 90) { return decisions_of(program_of(p), known(), architecture); }

TEST(ProductDecisions, NameStagesAndWhereOperandsLie) {
  const std::string text = decided({.tile = {128, 128, 32}});
  EXPECT_NE(text.find("products    bf16"), std::string::npos) << text;
  EXPECT_NE(text.find("4 stages of 16384 bytes"), std::string::npos) << text;
  EXPECT_NE(decided({.tile = {128, 128, 32}, .stages = 2}).find("2 stages of 16384 bytes"), std::string::npos);
  EXPECT_EQ(decided({.tile = {128, 128, 32}, .stages = 1}).find("stages"), std::string::npos);
  EXPECT_NE(decided({.a = From::Computed}).find("written"), std::string::npos);
}
TEST(ProductDecisions, LeaveOtherProductsToThreads) {
  EXPECT_FALSE(multiplies(generate(program_of({}), known(), 75).source));  // no such tensor cores
  EXPECT_FALSE(multiplies(generate(tiled_product({32, 32, 32}, f32, false), known(), 90).source));  // f32 has all its digits
  EXPECT_FALSE(multiplies(generate(tiled_product({32, 32, 8}, bf16, false), known(), 90).source));  // terms for less than a step
}
TEST(ProductDecisions, HaveFourWarpsMultiplyTogetherWhereTheyCan) {
  for (const int architecture : {80, 90, 100})
    EXPECT_EQ(multiplies_in_groups(generate(program_of({.tile = {64, 64, 64}}), known(), architecture).source), architecture == 90)
        << architecture;
  EXPECT_FALSE(multiplies_in_groups(generate(program_of({.tile = {32, 64, 64}}), known(), 90).source));  // fewer rows than a group has
  EXPECT_FALSE(multiplies_in_groups(generate(program_of({.tile = {64, 32, 64}}), known(), 90).source));  // terms across less than a strip
  EXPECT_TRUE(multiplies_in_groups(generate(program_of({.tile = {64, 32, 64}, .b = From::Columns}), known(), 90).source));
}
TEST(ProductDecisions, TakeAsManyWarpsAsTheLoopSays) {
  const auto threads = [](const TensorProduct& p, int architecture) { return generate(program_of(p), known(), architecture).threads; };
  const Tile3 tile{128, 128, 64};
  EXPECT_EQ(threads({.tile = tile}, 80), 32 * 4);  // unless it says so
  EXPECT_EQ(threads({.tile = tile}, 90), 32 * 8);
  for (const int warps : {2, 4, 8, 16}) EXPECT_EQ(threads({.tile = tile, .warps = warps}, 80), 32 * warps);
  for (const auto& [warps, expected] : {std::pair{1, 4}, {4, 4}, {6, 4}, {8, 8}, {16, 8}})  // in fours, of 64 rows each
    EXPECT_EQ(threads({.tile = tile, .warps = warps}, 90), 32 * expected);
}
TEST(ProductDecisions, LayOutTheSumsAsFragments) {
  const tile::Program program = program_of({});
  const ThreadGrid grid = fragment_grid(program, {16, 16});
  const simt::Linear own = linear_layout(grid, {16, 16}).value(), fragment = simt::fragment_layout(simt::Fragment::Accumulator, 16, 16, 1);
  EXPECT_EQ(own.lanes(), fragment.lanes());
  EXPECT_TRUE(std::ranges::is_permutation(own.registers(), fragment.registers()));  // they are numbered otherwise
  for (const auto& [sums, groups] : {std::pair{Shape{128, 128}, false},
                                     {Shape{64, 256}, false},
                                     {Shape{256, 32}, false},
                                     {Shape{16, 128}, false},
                                     {Shape{64, 64}, true},
                                     {Shape{256, 128}, true}}) {
    const ThreadGrid one = fragment_grid(program, sums, {}, groups);
    EXPECT_EQ(one.groups, groups);
    const auto layout = linear_layout(one, sums);
    ASSERT_TRUE(layout);
    int bits = 0;
    while (std::int64_t{1} << bits < numel(sums)) ++bits;
    EXPECT_TRUE(layout->covers(bits));
    EXPECT_EQ(std::int64_t{layout->held()} * one.threads(), numel(sums));  // each element once
  }
}
TEST(ProductDecisions, AddToTheRegistersThatAreCarried) {
  for (const bool added : {false, true})
    EXPECT_EQ(generate(program_of({.added = added}), known(), 90).source.find("next0"), std::string::npos);
}
TEST(ProductDecisions, ReadAndWriteBanksWithoutConflicts) {
  for (const TensorProduct& p : {TensorProduct{.tile = {64, 64, 16}},
                                 {.tile = {64, 64, 32}},
                                 {.tile = {64, 64, 64}},
                                 {.a = From::Columns, .b = From::Columns},
                                 {.b = From::Computed},
                                 {.stored = e4m3, .b = From::Columns}}) {
    const Sample sample = sample_of(p, false);
    simt::Observed observed;
    EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.observed = &observed}));
    EXPECT_GT(observed.banks.accesses, 0);
    EXPECT_EQ(observed.banks.conflicts, 0) << sample.name;
  }
}

/// A stage fewer, then none, where shared memory has no room for more.
TEST(ProductDecisions, FitIntoSharedMemory) {
  for (const int architecture : {80, 86, 90}) {
    for (const Tile3 tile : {Tile3{128, 256, 128}, {128, 128, 128}, {128, 128, 64}})
      EXPECT_LE(generate(program_of({.tile = tile}), known(), architecture).shared_bytes, shared_limit(architecture))
          << architecture << " " << tile.k;
  }
}
TEST(ProductDecisions, StoreHalvesInPiecesOf16Bytes) {
  for (const DType dtype : {bf16, f16})
    EXPECT_NE(generate(program_of({.tile = {64, 64, 32}, .out = dtype}), known(), 90).source.find("store_wide<8, 8"), std::string::npos);
  EXPECT_EQ(generate(program_of({.tile = {64, 64, 32}, .out = bf16}), {.facts = {4, 4, 0, 0, 0, 0}}, 90).source.find("store_wide<8, 8"),
            std::string::npos);
}

// ---- Faults.

/// A fault of such a product's kernel.
struct ProductFault {
  std::string name;
  TensorProduct product;
  std::function<bool(Statement&)> put;
  std::size_t place = 0;
  bool all = false;
};

std::vector<ProductFault> faults() {
  using namespace simt;
  const TensorProduct plain{.tile = {64, 32, 32}}, computed{.tile = {64, 32, 32}, .a = From::Computed, .b = From::Computed},
      once{.tile = {64, 32, 32}, .stages = 1};
  return {
      {"copies are not waited for", plain, without<WaitForCopies>()},
      {"one copy too few is waited for", plain, changed<WaitForCopies>([](WaitForCopies& wait) { return ++wait.unfinished > 0; })},
      {"threads do not meet behind the wait", plain, without<Barrier>(), 1},
      {"copies are not closed", plain, without<CloseCopies>(), 1},
      {"a stage is filled while it is read", plain, changed<Declare>([](Declare& one) {
         return one.what.name == "into" && replaced(
                                               *one.value, [](const Expression& e) { return e.kind == Expression::Kind::Choose; },
                                               [](const Expression&) { return Expression("stage"); });
       })},
      {"the stage is not counted on", plain,
       changed<Assign>([](Assign& one) { return one.target.is_name("stage") && (one.value = Expression("stage"), true); })},
      {"copies begin one iteration late", plain, changed<Declare>([](Declare& one) {
         return one.what.name == "later" && one.value->operands[0].kind == Expression::Kind::Name &&
                replaced(
                    *one.value, [](const Expression& e) { return e.kind == Expression::Kind::Integer; },
                    [](const Expression& e) { return Expression(e.integer + 1); });
       })},
      {"one stage too few is begun before the loop", plain,
       changed<Loop>([](Loop& loop) { return loop.name == "s" && (--loop.end, true); })},
      {"pieces lie where they would without the exclusive or", plain, changed<CopyAhead>([](CopyAhead& copy) {
         return replaced(copy.place, operation("^"), [](const Expression& e) { return e.operands[0]; });
       })},
      {"steps do not go on along a row", plain, changed<ReadMatrices>([](ReadMatrices& read) {
         return replaced(read.place, named("step"), [](const Expression&) { return Expression(0); });
       }),
       0, true},
      {"rows are read for columns", plain, changed<ReadMatrices>([](ReadMatrices& read) { return read.by_terms = !read.by_terms, true; })},
      {"halves of the left operand are exchanged", plain,
       changed<MultiplyFragments>([](MultiplyFragments& one) { return std::swap(one.upper, one.lower), true; })},
      {"the other half of the right operand is multiplied", plain,
       changed<MultiplyFragments>([](MultiplyFragments& one) { return one.second = 2 - one.second, true; })},
      {"a tile has one row too many", plain, changed<CopyAhead>([](CopyAhead& copy) {
         return replaced(copy.inside, operation("<"), [](const Expression& e) { return e.operands[0] < e.operands[1] + 1; });
       })},
      {"a tile has one column too few", plain,
       changed<CopyAhead>([](CopyAhead& copy) { return replaced(copy.inside, operation("-"), [](const Expression& e) { return e - 1; }); }),
       0, true},
      {"an operand is written while another is read", computed, without<Barrier>(), 0},
      {"an operand is read before all have written it", computed, without<Barrier>(), 1},
      {"a copy that stands in its place is not waited for", once, without<WaitForCopies>()},
      {"it is read before all threads know it is there", once, without<Barrier>(), 2},
      {"it is begun while the last one is read", once, without<Barrier>(), 0, true},
  };
}

/// The faults of four warps' products.
std::vector<ProductFault> group_faults() {
  using namespace simt;
  const TensorProduct plain{.tile = {64, 128, 64}, .boxes = false},
      computed{.tile = {64, 64, 64}, .a = From::Computed, .b = From::Computed}, early{.tile = {64, 64, 64}, .stages = 2, .boxes = false};
  using Side = MultiplyTile::Side;
  const auto side = [](std::function<bool(Side&)> change, bool of_left) {
    return changed<MultiplyTile>([=](MultiplyTile& product) { return change(of_left ? product.left : product.right); });
  };
  const auto at_first_step = [](Side& one) { return replaced(one.place, named("step"), [](const Expression&) { return Expression(0); }); };
  return {
      {"products are not awaited behind the loop", plain, without<AwaitProducts>(), 1},
      {"an iteration's products end later than its stage is filled", plain,
       changed<AwaitProducts>([](AwaitProducts& wait) { return ++wait.unfinished == 2; })},
      {"products of an iteration are not closed", plain, without<CloseProducts>()},
      {"what is copied has no fence", plain, without<FenceTiles>()},
      {"what is written has no fence", computed, without<FenceTiles>()},
      {"copies for a group are not waited for", plain, without<WaitForCopies>()},
      {"one copy too few for a group is waited for", plain,
       changed<WaitForCopies>([](WaitForCopies& wait) { return ++wait.unfinished > 0; })},
      {"a group's threads do not meet behind the wait", plain, without<Barrier>(), 1},
      {"a stage is filled that the products before may still read", plain, changed<Declare>([](Declare& one) {
         return one.what.name == "into" &&
                replaced(
                    *one.value, [](const Expression& e) { return e.kind == Expression::Kind::Choose; },
                    [](const Expression&) { return choose(binary("stage", "==", 0), 3, Expression("stage") - 1); });
       })},
      {"a group's stage is not counted on", plain,
       changed<Assign>([](Assign& one) { return one.target.is_name("stage") && (one.value = Expression("stage"), true); })},
      {"a group's pieces lie where they would without the exclusive or", plain, changed<CopyAhead>([](CopyAhead& copy) {
         return replaced(copy.place, operation("^"), [](const Expression& e) { return e.operands[0]; });
       })},
      {"the left operand's steps do not go on", plain, side(at_first_step, true)},
      {"the right operand's steps do not go on", plain, side(at_first_step, false)},
      {"the right operand is read the other way round", plain, side([](Side& one) { return one.by_terms = !one.by_terms, true; }, false)},
      {"the left operand is read the other way round", plain, side([](Side& one) { return one.by_terms = !one.by_terms, true; }, true)},
      {"strips lie beside each other elsewhere", plain, side([](Side& one) { return one.beside /= 2, true; }, false)},
      {"rows are taken for shorter than they are", plain, side([](Side& one) { return one.pitch /= 2, true; }, true)},
      {"upper and lower rows are exchanged", plain,
       changed<MultiplyTile>([](MultiplyTile& one) { return std::swap(one.upper, one.lower), true; })},
      {"half of the columns are left out", plain, changed<MultiplyTile>([](MultiplyTile& one) { return one.columns /= 2, true; })},
      {"a group's operand is written while another is read", computed, without<Barrier>(), 0},
      {"a group's operand is read before all have written it", computed, without<Barrier>(), 1},
      {"products are not awaited before their stage is filled", early, without<AwaitProducts>()},
  };
}

TEST(ProductFaults, AreFoundByTheVerifierOrTheMachine) {
  std::vector<ProductFault> all = faults();
  for (ProductFault& fault : group_faults()) all.push_back(std::move(fault));
  for (const auto& [name, product, put, place, everywhere] : all)  // more iterations than a ring has stages
    expect_found({{name, put, place, everywhere}}, sample_of(product, 72, 136, 336), {Pace::Even, Pace::Uneven});
}

}  // namespace
}  // namespace tegula::gpu
