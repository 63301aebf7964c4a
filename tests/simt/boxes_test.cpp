// Tiles that the copy engine brings as boxes of a tensor: which loads they are, their values by the machine beside the interpreter's, and faults put into the kernels,
// which the verifier or the machine must find.

#include <functional>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/tegula.h"
#include "tegula/tile.h"
#include "tests/support/kernel_faults.h"
#include "tests/support/same_on_a_gpu.h"
#include "tests/support/tensor_products.h"

namespace tutorials {
using namespace tegula::tile;

// Pointers that move along, and what is left of the terms, as Triton's tutorial of products has it.
const auto matmul = jit("tutorial", [](Ptr<tegula::BFloat16> a, Ptr<tegula::BFloat16> b, Out<float> c, Int M, Int N, Int K,
                                       Const<int, "BM"> BM, Const<int, "BN"> BN, Const<int, "BK"> BK, Const<int, "GROUP"> GROUP) {
  auto pid = program_id(0);
  auto tiles_m = cdiv(M, BM), tiles_n = cdiv(N, BN);
  auto in_group = tiles_n * GROUP;
  auto first_m = pid / in_group * GROUP;
  auto height = minimum(tiles_m - first_m, GROUP);
  auto pm = first_m + pid % in_group % height, pn = pid % in_group / height;
  auto m = pm * BM + arange(0, BM), n = pn * BN + arange(0, BN), k = arange(0, BK);
  auto pa = a + (col(m) * K + row(k));
  auto pb = b + (col(k) * N + row(n));
  auto acc = zeros<float>({BM, BN});
  for (auto step : range(0, cdiv(K, BK))) {
    auto left = K - step * BK;
    acc += dot(load(pa, col(m) < M && row(k) < left), load(pb, col(k) < left && row(n) < N));
    pa += BK;
    pb += N * BK;
  }
  store(c + col(m) * N + row(n), acc, col(m) < M && row(n) < N);
});
}  // namespace tutorials

namespace tegula::gpu {
namespace {

using simt::Expression;
using simt::Kernel;

Specialisation with_maps(std::uint8_t numbers = 4 | kShort) { return {.facts = {4, 4, 4, numbers, numbers, numbers}, .maps = true}; }
bool has_boxes(const TensorProduct& p, const Specialisation& known = with_maps()) {
  const Generated code = generate(program_of(p), known, 90);
  EXPECT_EQ(code.maps.empty(), code.source.find("copy_box<") == std::string::npos);
  return !code.maps.empty();
}

TEST(Boxes, AreLoadsWithinLimits) {
  EXPECT_TRUE(has_boxes({.tile = {64, 64, 64}}));
  EXPECT_TRUE(has_boxes({.tile = {128, 256, 64}, .b = From::Columns}));
  EXPECT_TRUE(has_boxes({.tile = {64, 64, 32}, .stored = f16}));
  EXPECT_FALSE(has_boxes({.tile = {64, 64, 64}, .boxes = false}));  // a condition that is no limit
  EXPECT_FALSE(has_boxes({.tile = {64, 64, 64}, .a = From::Computed, .b = From::Computed}));
  EXPECT_FALSE(has_boxes({.tile = {64, 64, 64}}, with_maps(kShort)));  // rows that may begin anywhere
  EXPECT_FALSE(has_boxes({.tile = {32, 64, 64}}));  // products of single warps
  Specialisation many = with_maps();
  many.many_sets = true;
  EXPECT_FALSE(has_boxes({.tile = {64, 64, 64}}, many));
  many = with_maps(), many.maps = false;
  EXPECT_FALSE(has_boxes({.tile = {64, 64, 64}}, many));
}
TEST(Boxes, HaveMapsOfTheArguments) {
  const Generated code = generate(program_of({.tile = {128, 128, 64}}), with_maps(), 90);
  using Size = simt::TensorMap::Size;
  const simt::TensorMap left{
      .pointer = 0, .dtype = bf16, .columns = Size{5}, .rows = Size{3}, .stride = Size{5}, .box_columns = 64, .box_rows = 128};
  const simt::TensorMap right{
      .pointer = 1, .dtype = bf16, .columns = Size{4}, .rows = Size{5}, .stride = Size{4}, .box_columns = 64, .box_rows = 64};
  ASSERT_EQ(code.maps.size(), 2u);
  EXPECT_EQ(code.maps[0], left);
  EXPECT_EQ(code.maps[1], right);
}

/// The program of a product whose left tile begins `before` terms ahead of the row: into the row above, where nothing but the program says so.
tile::Program shifted(std::int64_t before) {
  using namespace tile;
  Builder b("shifted");
  const Value pa = b.pointer("in0", bf16, false), pb = b.pointer("in1", bf16, false), pc = b.pointer("out2", f32, true);
  const Value M = b.scalar("n0", i64), N = b.scalar("n1", i64), K = b.scalar("n2", i64);
  const auto count = [&](std::int64_t number) { return b.constant(number, i64); };
  const Value m = (b.program_id(0) + count(1)) * count(64) + b.arange(0, 64), n = b.arange(0, 64);
  const Value sum =
      b.for_(count(0), K, count(64), {b.full({64, 64}, 0, f32)}, [&](Value at, std::span<const Value> now) -> std::vector<Value> {
        const Value from = at - count(before), k = from + b.arange(0, 64), down = at + b.arange(0, 64);
        const Value left = b.load(pa + (col(m) * K + tile::row(k)), col(m < M) && tile::row(k < K));
        const Value right = b.load(pb + (col(down) * N + tile::row(n)), col(down < K) && tile::row(n < N));
        return {dot(left, right, now[0])};
      })[0];
  b.store(pc + (col(m) * N + tile::row(n)), sum, col(m < M) && tile::row(n < N));
  return b.finish();
}
TEST(Boxes, BeginAheadOfARowWhereTheProgramSaysSo) {
  using host::TestArgument;
  const std::int64_t M = 136, N = 48, K = 144;
  for (const std::int64_t before : {0, 8, 24}) {
    const std::vector<TestArgument> arguments{
        TestArgument::filled(bf16, static_cast<std::size_t>(M * K), [](std::size_t i) { return whole(i); }),
        TestArgument::filled(bf16, static_cast<std::size_t>(K * N), [](std::size_t i) { return whole(i * 3 + 1); }),
        TestArgument::filled(f32, static_cast<std::size_t>(M * N), [](std::size_t) { return 0.0; }),
        TestArgument::scalar(static_cast<double>(M)),
        TestArgument::scalar(static_cast<double>(N)),
        TestArgument::scalar(static_cast<double>(K))};
    EXPECT_FALSE(generate(shifted(before), with_maps(), 90).maps.empty()) << before;
    for (const Pace pace : {Pace::Even, Pace::Uneven})
      EXPECT_TRUE(emulation_agrees(shifted(before), arguments, {.grids = {{2, 1, 1}}}, {.pace = pace})) << before;
  }
}

TEST(Boxes, LeaveTheirRingToWholeRows) {
  const auto stores_rows = [](const TensorProduct& p) {
    return generate(program_of(p), with_maps(), 90).source.find("load_wide<8, 8>(reinterpret_cast<BFloat16*>(tiles") != std::string::npos;
  };
  EXPECT_TRUE(stores_rows({.tile = {64, 128, 64}, .out = bf16}));
  EXPECT_FALSE(stores_rows({.tile = {64, 128, 64}, .out = bf16, .boxes = false}));  // whose ring threads fill
}

TEST(Boxes, LeaveRoomBesideOperandsThatThreadsWrite) {
  for (const DType stored : {e4m3, i8, f32}) {
    for (const Tile3& tile : {Tile3{128, 256, 128}, {256, 128, 128}, {128, 128, 256}}) {
      for (const auto& [a, roles] : {std::pair{From::Rows, false}, {From::Rows, true}, {From::Computed, false}}) {
        if (stored == f32 && tile.k > 128) continue;  // more than there is
        const TensorProduct p{.tile = tile, .stored = stored, .out = is_float(stored) ? f32 : i32, .a = a, .roles = roles};
        try {
          EXPECT_FALSE(generate(program_of(p), with_maps(), 90).source.empty());
        } catch (const Error& refused) { ADD_FAILURE() << name_of(p) << ": " << refused.what(); }
      }
    }
  }
}

TEST(Boxes, CompileWithoutSpills) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const TensorProduct& p :
       {TensorProduct{.tile = {128, 256, 64}, .out = bf16}, {.tile = {128, 128, 64}, .out = bf16, .b = From::Columns}}) {
    const Generated code = generate(program_of(p), with_maps(), 90);
    testing::internal::CaptureStderr();
    const auto used = figures(with_prelude(code.source), 90).at(code.name);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("Performance Loss"), std::string::npos);
    EXPECT_EQ(used.spill_stores, 0u);
    EXPECT_LE(used.stack_bytes, 16u);  // of a call that hardly happens
  }
}

TEST(Boxes, AreFoundWherePointersMoveAlong) {
  const std::int64_t M = 136, N = 72, K = 200;
  const auto drawn = [](const Shape& shape) { return cast(floor(uniform(shape, -3, 4)), bf16); };
  const auto results = tutorials::matmul({4}, drawn({M, K}), drawn({K, N}), tile::out({M, N}), M, N, K, 64, 64, 64, 2);
  const tile::Program& program = TileKernelOp::of(kernel_node(results).op())->program().program;
  const Generated code = generate(program, with_maps(3 | kShort), 90);
  EXPECT_EQ(code.maps.size(), 2u) << decisions_of(program, with_maps(3 | kShort), 90);
  EXPECT_EQ(code.source.find("copy_ahead<"), std::string::npos);
  EXPECT_TRUE(same_on_a_gpu(results, {6, 1, 1}, {M, N, K}));
}

// ---- Faults.

std::vector<Fault> faults() {
  using namespace simt;
  return {
      {"bytes are not awaited", without<AwaitBytes>()},
      {"the phase after the next is awaited", changed<AwaitBytes>([](AwaitBytes& wait) { wait.parity = binary(1, "-", wait.parity); })},
      {"another stage is awaited", changed<AwaitBytes>([](AwaitBytes& wait) { wait.counter = std::move(wait.counter) + 8; })},
      {"the parity does not change", stays("parity")},
      {"the stage is not counted on", stays("stage")},
      {"no bytes are expected", without<ExpectBytes>(), 1},
      {"a box too few is expected", changed<ExpectBytes>([](ExpectBytes& expect) { expect.bytes -= 8192; }), 0, true},
      {"a box too many is expected", changed<ExpectBytes>([](ExpectBytes& expect) { expect.bytes += 8192; }), 0, true},
      {"counters do not begin", without<BeginCounters>()},
      {"a counter too few begins", changed<BeginCounters>([](BeginCounters& begin) { --begin.count; })},
      {"threads do not meet behind the begin of counters", without<Barrier>(), 1},
      {"a stage is filled while others read it", without<Barrier>(), 2},
      {"boxes are counted elsewhere", changed<CopyBox>([](CopyBox& copy) { copy.counter = std::move(copy.counter) + 8; }), 0, true},
      {"a box begins a column further", changed<CopyBox>([](CopyBox& copy) { copy.x = std::move(copy.x) + 1; }), 0, true},
      {"a box begins a row further", changed<CopyBox>([](CopyBox& copy) { copy.y = std::move(copy.y) + 1; }), 0, true},
      {"a strip lies where another does", changed<CopyBox>([](CopyBox& copy) { copy.place = std::move(copy.place) + 8192; }), 1},
      {"rows of a box are short", changed<CopyBox>([](CopyBox& copy) { copy.pitch /= 2; }), 0, true},
      {"a box is left out", without<CopyBox>(), 2, true},
      {"a box has another map", changed<CopyBox>([](CopyBox& copy) { copy.map = 1 - copy.map; }), 0, true},
      {"products are not awaited before their stage is filled", changed<AwaitProducts>([](AwaitProducts& wait) { ++wait.unfinished; })},
  };
}

TEST(BoxFaults, AreFoundByTheVerifierOrTheMachine) { expect_found(faults(), sample_of({.tile = {64, 128, 64}}, 72, 136, 336)); }
/// Maps are the launch's: the machine finds sizes that are not the masks'.
TEST(BoxFaults, OfMapsAreFound) {
  const Sample sample = sample_of({.tile = {64, 64, 64}}, 72, 40, 80);
  for (const auto& change : std::vector<std::function<void(simt::TensorMap&)>>{
           [](simt::TensorMap& map) { map.columns = {.number = 72}; }, [](simt::TensorMap& map) { map.rows.parameter = 3; },
           [](simt::TensorMap& map) { map.stride.parameter = 3; }, [](simt::TensorMap& map) { map.pointer = 1 - map.pointer; }}) {
    bool shows = false;
    try {
      shows = !emulation_agrees(sample.program, sample.arguments, sample.run, {.change_kernel = [&](Kernel& kernel) {
                                  for (simt::TensorMap& map : kernel.maps) change(map);
                                }});
    } catch (const Error&) { shows = true; }
    EXPECT_TRUE(shows);
  }
}

// ---- Boxes of more axes.

/// Sums over the taps of a window of 2 x 3 with a stride of 2 and one element of padding ahead: what images (N, H, W, C) have there times weights (2, 3, C, O). The
/// tile's rows are 2 x 4 x 8 pixels of a block.
tile::Program windows_program() {
  using namespace tile;
  constexpr std::int64_t kImages = 2, kRows = 4, kColumns = 8, kTerms = 64, kChannels = 64, kStride = 2;
  Builder b("windows");
  const Value px = b.pointer("in0", bf16, false), pw = b.pointer("in1", bf16, false), py = b.pointer("out2", f32, true);
  const Value N = b.scalar("n0", i64), H = b.scalar("n1", i64), W = b.scalar("n2", i64), C = b.scalar("n3", i64), O = b.scalar("n4", i64);
  const auto count = [&](std::int64_t number) { return b.constant(number, i64); };
  const auto along = [&](int axis, Value line) {
    for (int i = 0; i < axis; ++i) line = expand_dims(line, 0);
    for (int i = axis + 1; i < 4; ++i) line = expand_dims(line, i);
    return line;
  };
  const Value n0 = b.program_id(1) * count(kImages), p0 = b.program_id(0) * count(kRows), o = b.arange(0, kChannels);
  const Value n = along(0, n0 + b.arange(0, kImages));
  const Value sum =
      b.for_(count(0), count(6), count(1), {b.full({kImages * kRows * kColumns, kChannels}, 0, f32)},
             [&](Value tap, std::span<const Value> now) -> std::vector<Value> {
               const Value h = along(1, (p0 * count(kStride) + tap / count(3) - count(1)) + b.arange(0, kRows) * count(kStride)),
                           w = along(2, (tap % count(3) - count(1)) + b.arange(0, kColumns) * count(kStride)), c = b.arange(0, kTerms);
               const Value inside = n < N && h >= count(0) && h < H && w >= count(0) && w < W && along(3, c) < C;
               const Value windows = b.load(px + (n * (H * W * C) + h * (W * C) + w * C + along(3, c)), inside);
               const Value factors = b.load(pw + (tap * (C * O) + (col(c) * O + tile::row(o))), col(c < C) && tile::row(o < O));
               return {dot(reshape(windows, {kImages * kRows * kColumns, kTerms}), factors, now[0])};
             })[0];
  const Value p = along(1, p0 + b.arange(0, kRows)), q = along(2, b.arange(0, kColumns)), P = (H + count(1)) / count(2),
              Q = (W + count(1)) / count(2);
  b.store(py + (n * (P * Q * O) + p * (Q * O) + q * O + along(3, o)), reshape(sum, {kImages, kRows, kColumns, kChannels}),
          n < N && p < P && q < Q && along(3, o) < O);
  return b.finish();
}
Sample windows_sample() {
  using host::TestArgument;
  const std::int64_t N = 3, H = 9, W = 13, C = 24, O = 40, P = (H + 1) / 2, Q = (W + 1) / 2;
  return {"windows",
          windows_program(),
          {TestArgument::filled(bf16, static_cast<std::size_t>(N * H * W * C), [](std::size_t i) { return whole(i); }),
           TestArgument::filled(bf16, static_cast<std::size_t>(6 * C * O), [](std::size_t i) { return whole(i * 3 + 1); }),
           TestArgument::empty(f32, static_cast<std::size_t>(N * P * Q * O)), TestArgument::scalar(static_cast<double>(N)),
           TestArgument::scalar(static_cast<double>(H)), TestArgument::scalar(static_cast<double>(W)),
           TestArgument::scalar(static_cast<double>(C)), TestArgument::scalar(static_cast<double>(O))},
          {.grids = {{2, 2, 1}}}};
}
Specialisation of_windows() { return {.facts = {4, 4, 4, kShort, kShort, kShort, 3 | kShort, 3 | kShort}, .maps = true}; }

TEST(BoxesOfMoreAxes, AreTilesWithLimitsAtBothEnds) {
  const Generated code = generate(windows_program(), of_windows(), 90);
  EXPECT_NE(code.source.find("copy_inside("), std::string::npos) << decisions_of(windows_program(), of_windows(), 90);
  EXPECT_EQ(code.source.find("copy_ahead<"), std::string::npos);
  ASSERT_EQ(code.maps.size(), 2u);
  const simt::TensorMap& map = code.maps[0].inside ? code.maps[0] : code.maps[1];
  using Size = simt::TensorMap::Size;
  EXPECT_TRUE(map.inside);
  EXPECT_EQ(map.columns, Size{6});
  EXPECT_EQ(map.rows, Size{5});
  EXPECT_EQ(map.stride, Size{6});
  EXPECT_EQ(map.box_rows * map.row_step, 16);
  ASSERT_EQ(map.planes.size(), 2u);
  EXPECT_EQ(map.planes[0].size, Size{4});
  EXPECT_EQ(map.planes[0].box * 10 + map.planes[0].step, 42);
  EXPECT_EQ(map.planes[0].factors.size(), 2u);
  EXPECT_EQ(map.planes[1].size, Size{3});
  EXPECT_EQ(map.planes[1].factors.size(), 3u);
}
TEST(BoxesOfMoreAxes, AreTheInterpreters) {
  const Sample sample = windows_sample();
  for (const int architecture : {90, 80})
    for (const Pace pace : {Pace::Even, Pace::Uneven})
      EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.architecture = architecture, .pace = pace}))
          << architecture;
}
TEST(BoxesOfMoreAxes, FaultsAreFound) {
  using namespace simt;
  const auto of_images = [](auto change) { return changed<CopyBox>([change](CopyBox& box) { return box.inside && (change(box), true); }); };
  expect_found(
      {{"a box begins a column of the image further", of_images([](CopyBox& box) { box.y = std::move(box.y) + 1; }), 0, true},
       {"a box begins a channel further", of_images([](CopyBox& box) { box.x = std::move(box.x) + 8; }), 0, true},
       {"a box begins a row of the image further", of_images([](CopyBox& box) { box.planes[0] = std::move(box.planes[0]) + 1; }), 0, true},
       {"a box is of the next image", of_images([](CopyBox& box) { box.planes[1] = std::move(box.planes[1]) + 1; }), 0, true},
       {"rows and images are exchanged", of_images([](CopyBox& box) { std::swap(box.planes[0], box.planes[1]); }), 0, true},
       {"a box has fewer rows than its map", of_images([](CopyBox& box) { box.box_rows /= 2; }), 0, true},
       {"a box is taken for one of addresses", of_images([](CopyBox& box) { box.inside = false; }), 0, true}},
      windows_sample());
}
TEST(BoxesOfMoreAxes, FaultsOfMapsAreFound) {
  const Sample sample = windows_sample();
  using Map = simt::TensorMap;
  const std::vector<std::pair<const char*, std::function<void(Map&)>>> faults{
      {"the image ends a column early", [](Map& map) { map.rows = {.number = 12}; }},
      {"the image ends a row early", [](Map& map) { map.planes[0].size = Map::Size{.number = 8}; }},
      {"an image is missing", [](Map& map) { map.planes[1].size = Map::Size{.number = 2}; }},
      {"channels are missing", [](Map& map) { map.columns = {.number = 16}; }},
      {"every column is copied", [](Map& map) { map.row_step = 1; }},
      {"every row is copied", [](Map& map) { map.planes[0].step = 1; }},
      {"rows lie as far apart as columns", [](Map& map) { map.planes[0].factors = {map.stride}; }},
      {"blocks are turned", [](Map& map) { std::swap(map.box_rows, map.planes[0].box); }},
      {"images are taken for rows", [](Map& map) { std::swap(map.planes[0].box, map.planes[1].box); }},
      {"what lies ahead is read", [](Map& map) { map.inside = false; }}};
  for (const auto& [name, put] : faults) {
    bool shows = false;
    std::size_t verified = 0;
    try {
      shows = !emulation_agrees(sample.program, sample.arguments, sample.run, {.change_kernel = [&](Kernel& kernel) {
                                  for (Map& map : kernel.maps)
                                    if (map.inside) put(map);
                                  verified = simt::faults(kernel).size();
                                }});
    } catch (const Error&) { shows = true; }
    EXPECT_TRUE(shows || verified > 0) << name;
  }
}

}  // namespace
}  // namespace tegula::gpu
