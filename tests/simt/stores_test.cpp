// Tiles that the copy engine stores as boxes of a tensor: which stores they are, their values by the machine beside the interpreter's, and faults put into the
// kernels, which the verifier or the machine must find.

#include <functional>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tests/support/kernel_faults.h"
#include "tests/support/tensor_products.h"

namespace tegula::gpu {
namespace {

using simt::Expression;
using simt::Kernel;

Specialisation with_maps(std::uint8_t numbers = 4 | kShort) { return {.facts = {4, 4, 4, numbers, numbers, numbers}, .maps = true}; }
Generated code_of(const TensorProduct& p, const Specialisation& known = with_maps()) { return generate(program_of(p), known, 90); }
bool stores_boxes(const TensorProduct& p, const Specialisation& known = with_maps()) {
  return code_of(p, known).source.find("store_box<") != std::string::npos;
}

TEST(StoredBoxes, AreHalvesOfProductsThatAskForIt) {
  EXPECT_TRUE(stores_boxes({.tile = {64, 64, 64}, .out = bf16, .bulk = true}));
  EXPECT_TRUE(stores_boxes({.tile = {128, 256, 64}, .stored = f16, .out = f16, .b = From::Columns, .doubled = true, .bulk = true}));
  EXPECT_TRUE(stores_boxes({.tile = {128, 256, 64}, .out = bf16, .roles = true, .bulk = true}));
  EXPECT_FALSE(stores_boxes({.tile = {64, 64, 64}, .out = bf16}));
  EXPECT_FALSE(stores_boxes({.tile = {64, 64, 64}, .bulk = true}));  // f32
  EXPECT_FALSE(stores_boxes({.tile = {64, 32, 64}, .out = bf16, .bulk = true}));  // less than a line
  EXPECT_FALSE(stores_boxes({.tile = {64, 64, 64}, .out = bf16, .boxes = false, .bulk = true}));  // whose ring threads fill
  EXPECT_FALSE(stores_boxes({.tile = {32, 64, 64}, .out = bf16, .bulk = true}));  // products of single warps
  EXPECT_FALSE(stores_boxes({.tile = {64, 64, 64}, .out = bf16, .bulk = true}, with_maps(kShort)));  // rows that may begin anywhere
  Specialisation without = with_maps();
  without.maps = false;
  EXPECT_FALSE(stores_boxes({.tile = {64, 64, 64}, .out = bf16, .bulk = true}, without));
  EXPECT_EQ(generate(program_of({.tile = {64, 64, 64}, .out = bf16, .bulk = true}), with_maps(), 80).source.find("store_box<"),
            std::string::npos);
}
TEST(StoredBoxes, HaveMapsOfTheArguments) {
  using Size = simt::TensorMap::Size;
  const simt::TensorMap result{
      .pointer = 2, .dtype = bf16, .columns = Size{4}, .rows = Size{3}, .stride = Size{4}, .box_columns = 64, .box_rows = 16};
  const Generated code = code_of({.tile = {128, 128, 64}, .out = bf16, .bulk = true});
  ASSERT_EQ(code.maps.size(), 3u);
  EXPECT_EQ(code.maps[2], result);
}
TEST(StoredBoxes, AreNotReadAgain) {
  using namespace tile;
  const auto program = [](bool again, Cache how = Cache::Bulk) {
    Builder b("again");
    const Value pa = b.pointer("in0", bf16, false), pb = b.pointer("in1", bf16, false), pc = b.pointer("out2", bf16, true);
    const auto count = [&](std::int64_t number) { return b.constant(number, i64); };
    const Value K = b.scalar("n0", i64), m = b.arange(0, 64), places = col(m) * count(64) + tile::row(m);
    const Value sum =
        b.for_(count(0), K, count(64), {b.full({64, 64}, 0, f32)}, [&](Value at, std::span<const Value> now) -> std::vector<Value> {
          const Value k = at + b.arange(0, 64);
          return {dot(b.load(pa + (col(m) * K + tile::row(k)), broadcast(tile::row(k < K), {64, 64})),
                      b.load(pb + (col(k) * count(64) + tile::row(m)), broadcast(col(k < K), {64, 64})), now[0])};
        })[0];
    b.store({.cache_modifier = how}, pc + places, sum);
    if (again) b.store(pc + places, b.load(pc + places) + b.full({64, 64}, 1, f32));
    return b.finish();
  };
  const Specialisation known{.facts = {4, 4, 4, 4 | kShort}, .maps = true};
  EXPECT_NE(generate(program(false), known, 90).source.find("store_box<"), std::string::npos) << decisions_of(program(false), known, 90);
  EXPECT_EQ(generate(program(true), known, 90).source.find("store_box<"), std::string::npos);
  EXPECT_NE(generate(program(false, Cache::Default), known, 90).source.find("store_box<"), std::string::npos);
  EXPECT_EQ(generate(program(false, Cache::Wb), known, 90).source.find("store_box<"), std::string::npos);
}

class Stores : public testing::TestWithParam<TensorProduct> {};

TEST_P(Stores, LeaveOnTheMachineWhatTheInterpreterLeaves) {
  EXPECT_TRUE(stores_boxes(GetParam()));
  for (const auto& [M, N, K] : {std::array{200, 136, 336}, {72, 264, 16}, {64, 64, 0}}) {
    const Sample sample = sample_of(GetParam(), M, N, K);
    for (const Pace pace : {Pace::Even, Pace::Even, Pace::Uneven, Pace::Uneven})
      EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.pace = pace})) << M;
  }
}
TEST_P(Stores, PassTheVerifier) {
  EXPECT_EQ(simt::faults(make_kernel(program_of(GetParam()), with_maps(), 90)), std::vector<std::string>());
}
INSTANTIATE_TEST_SUITE_P(, Stores,
                         testing::Values(TensorProduct{.tile = {64, 64, 64}, .out = bf16, .bulk = true},
                                         TensorProduct{.tile = {128, 128, 64}, .out = bf16, .b = From::Columns, .bulk = true},
                                         TensorProduct{.tile = {64, 128, 64}, .stored = f16, .out = f16, .doubled = true, .bulk = true},
                                         TensorProduct{.tile = {64, 128, 64}, .out = bf16, .b = From::Columns, .roles = true, .bulk = true},
                                         TensorProduct{.tile = {128, 64, 64}, .out = bf16, .stages = 2, .roles = true, .bulk = true}),
                         [](const auto& info) { return name_of(info.param); });

/// Results of windows' sums: tiles of images, rows, columns, channels.
tile::Program rows_of_images(std::int64_t rows, std::int64_t columns) {
  using namespace tile;
  constexpr std::int64_t kTerms = 64, kChannels = 64;
  const std::int64_t images = 64 / (rows * columns);
  Builder b("images");
  const Value px = b.pointer("in0", bf16, false), pw = b.pointer("in1", bf16, false), py = b.pointer("out2", bf16, true);
  const Value N = b.scalar("n0", i64), H = b.scalar("n1", i64), W = b.scalar("n2", i64), C = b.scalar("n3", i64), O = b.scalar("n4", i64);
  const auto count = [&](std::int64_t number) { return b.constant(number, i64); };
  const auto along = [&](int axis, Value line) {
    for (int i = 0; i < axis; ++i) line = expand_dims(line, 0);
    for (int i = axis + 1; i < 4; ++i) line = expand_dims(line, i);
    return line;
  };
  const Value o = b.arange(0, kChannels), n = along(0, b.program_id(1) * count(images) + b.arange(0, images)),
              h = along(1, b.program_id(0) * count(rows) + b.arange(0, rows)), w = along(2, b.arange(0, columns));
  const Value inside = n < N && h < H && w < W;
  const Value sum = b.for_(
      count(0), C, count(kTerms), {b.full({64, kChannels}, 0, f32)}, [&](Value at, std::span<const Value> now) -> std::vector<Value> {
        const Value c = at + b.arange(0, kTerms);
        const Value pixels = b.load(px + (n * (H * W * C) + h * (W * C) + w * C + along(3, c)), inside && along(3, c) < C);
        const Value factors = b.load(pw + (col(c) * O + tile::row(o)), col(c < C) && tile::row(o < O));
        return {dot(reshape(pixels, {64, kTerms}), factors, now[0])};
      })[0];
  b.store({.cache_modifier = Cache::Bulk}, py + (n * (H * W * O) + h * (W * O) + w * O + along(3, o)),
          reshape(sum, {images, rows, columns, kChannels}), inside && along(3, o) < O);
  return b.finish();
}
TEST(StoredBoxesOfMoreAxes, AreTheInterpreters) {
  using host::TestArgument;
  const std::int64_t N = 3, H = 9, W = 13, C = 24, O = 40;
  const Specialisation known{.facts = {4, 4, 4, kShort, kShort, kShort, 3 | kShort, 3 | kShort}, .maps = true};
  for (const auto& [rows, columns] : {std::array{4, 8}, {2, 16}, {8, 4}, {2, 2}}) {
    const tile::Program program = rows_of_images(rows, columns);
    EXPECT_NE(generate(program, known, 90).source.find("store_inside("), std::string::npos) << decisions_of(program, known, 90);
    const std::vector<TestArgument> arguments{
        TestArgument::filled(bf16, static_cast<std::size_t>(N * H * W * C), [](std::size_t i) { return whole(i); }),
        TestArgument::filled(bf16, static_cast<std::size_t>(C * O), [](std::size_t i) { return whole(i * 3 + 1); }),
        TestArgument::filled(bf16, static_cast<std::size_t>(N * H * W * O), [](std::size_t) { return 0.0; }),
        TestArgument::scalar(static_cast<double>(N)),
        TestArgument::scalar(static_cast<double>(H)),
        TestArgument::scalar(static_cast<double>(W)),
        TestArgument::scalar(static_cast<double>(C)),
        TestArgument::scalar(static_cast<double>(O))};
    const std::int64_t images = 64 / (rows * columns);
    for (const Pace pace : {Pace::Even, Pace::Uneven})
      EXPECT_TRUE(emulation_agrees(program, arguments, {.grids = {{(H + rows - 1) / rows, (N + images - 1) / images, 1}}}, {.pace = pace}))
          << rows << " " << columns;
  }
}

TEST(StoredBoxes, CompileWithoutSpills) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const TensorProduct& p : {TensorProduct{.tile = {128, 256, 64}, .out = bf16, .bulk = true},
                                 {.tile = {128, 256, 64}, .out = bf16, .b = From::Columns, .roles = true, .bulk = true},
                                 {.tile = {128, 128, 64}, .stored = f16, .out = f16, .b = From::Columns, .bulk = true}}) {
    const Generated code = code_of(p);
    testing::internal::CaptureStderr();
    const auto used = figures(with_prelude(code.source), 90).at(code.name);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("Performance Loss"), std::string::npos);
    EXPECT_EQ(used.spill_stores, 0u);
    EXPECT_LE(used.stack_bytes, 16u);  // of a call that hardly happens
  }
}

// ---- Faults.

std::vector<Fault> faults(bool stays) {
  using namespace simt;
  const auto of_warp = [](Statement& one) {
    const auto* const barrier = one.as<Barrier>();
    return barrier != nullptr && barrier->kind == Barrier::Kind::Warp && (one = Note{"taken out"}, true);
  };
  std::vector<Fault> all{
      {"no fence stands behind what is written",
       [](Statement& one) { return one.as<FenceTiles>() != nullptr && (one = Note{"taken out"}, true); }, stays ? 0u : 1u},
      {"a warp does not meet behind its fence", of_warp, stays ? 1u : 0u},
      {"stores are not awaited at the end", without<AwaitStores>(), stays ? 1u : 0u},
      {"the last group is not awaited",
       changed<AwaitStores>([](AwaitStores& wait) { return wait.unfinished == 0 && (wait.unfinished = 1, true); })},
      {"groups are not closed", without<CloseStores>()},
      {"all lanes store a box", [](Statement& one) { return one.as<StoreBox>() != nullptr && (one.when = {}, true); }},
      {"a box is left out", without<StoreBox>()},
      {"a box begins a column further", changed<StoreBox>([](StoreBox& box) { box.x = std::move(box.x) + 8; })},
      {"a box begins a row further", changed<StoreBox>([](StoreBox& box) { box.y = std::move(box.y) + 1; })},
      {"a box is taken from elsewhere", changed<StoreBox>([](StoreBox& box) { box.place = std::move(box.place) + 1024; })},
      {"a box has fewer rows than its map", changed<StoreBox>([](StoreBox& box) { box.box_rows /= 2; })},
      {"a box has another map", changed<StoreBox>([](StoreBox& box) { box.map = 0; })},
      {"rows of a piece are not swizzled", changed<WriteMatrices>([](WriteMatrices& write) {
         return replaced(write.place, operation("^"), [](const Expression& e) { return e.operands[0]; });
       })},
      {"matrices are left out", without<WriteMatrices>()},
      {"a register is packed from another vector", changed<PackFragment>([](PackFragment& pack) {
         return replaced(pack.source, operation("/"), [](const Expression&) { return Expression(0); }) ||
                (pack.source.operands.back() = 0, true);
       }),
       2},
  };
  if (stays) {
    all.push_back({"a piece is written to before it is taken", without<AwaitStores>(), 0});
    all.push_back({"a piece more is on its way",
                   changed<AwaitStores>([](AwaitStores& wait) { return wait.unfinished == 1 && (wait.unfinished = 2, true); })});
    all.push_back({"a warp does not meet before it writes", of_warp, 0});
  } else {
    all.push_back({"others may still read the ring",
                   [](Statement& one) {
                     const auto* const barrier = one.as<Barrier>();
                     return barrier != nullptr && barrier->kind == Barrier::Kind::Block && (one = Note{"taken out"}, true);
                   },
                   0, true});
  }
  return all;
}
TEST(StoreFaults, AreFoundByTheVerifierOrTheMachine) {
  expect_found(faults(false), sample_of({.tile = {64, 128, 64}, .out = bf16, .bulk = true}, 72, 136, 208));
}
TEST(StoreFaults, OfBlocksThatStayAreFound) {
  expect_found(faults(true), sample_of({.tile = {64, 256, 64}, .out = bf16, .roles = true, .bulk = true}, 136, 264, 80));
}
TEST(StoreFaults, OfMapsAreFound) {
  const Sample sample = sample_of({.tile = {64, 64, 64}, .out = bf16, .bulk = true}, 72, 40, 80);
  for (const auto& change : std::vector<std::function<void(simt::TensorMap&)>>{
           [](simt::TensorMap& map) { map.columns = {.number = 72}; }, [](simt::TensorMap& map) { map.columns = {.number = 32}; },
           [](simt::TensorMap& map) { map.rows = {.number = 64}; }, [](simt::TensorMap& map) { map.stride.parameter = 3; }}) {
    bool shows = false;
    try {
      shows = !emulation_agrees(sample.program, sample.arguments, sample.run,
                                {.change_kernel = [&](Kernel& kernel) { change(kernel.maps[2]); }});
    } catch (const Error&) { shows = true; }
    EXPECT_TRUE(shows);
  }
}

}  // namespace
}  // namespace tegula::gpu
