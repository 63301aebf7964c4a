// An operand read in another order than it was written is read in tiles that use whole lines of memory, with the same results.

#include <gtest/gtest.h>

#include <array>

#include "tegula/compile/pipeline.h"
#include "tegula/compile/plan/plan.h"
#include "tegula/tegula.h"
#include "tests/support/queued_device.h"
#include "tests/support/values.h"

namespace tegula::compile {
namespace {

using test::leaf;

/// The shapes of the tiles that the only program of this result loads.
std::vector<Shape> tiles_of(const Tensor& result, runtime::Device& device = runtime::cpu()) {
  const std::vector<const Node*> nodes{result.node().get()};
  Graph graph = flatten(read(nodes), nodes, {});
  optimize(graph, device);
  const Plan plan = make_plan(std::move(graph), device);
  std::vector<Shape> shapes;
  for (const Step& step : plan.steps) {
    for (const tile::Instruction& one : step.launch()->program->instructions) {
      if (one.word == tile::Word::Load && one.type.shape.rank() == 2) shapes.push_back(one.type.shape);
    }
  }
  return shapes;
}

TEST(ReadAcross, TilesUseWholeLinesOfBothSides) {
  using Tiles = std::vector<Shape>;
  EXPECT_EQ(tiles_of(permute(leaf({2, 32, 32, 64}), {0, 3, 1, 2}) * 2.0), Tiles({{16, 128}})) << "from channels-last";
  EXPECT_EQ(tiles_of(permute(leaf({2, 64, 32, 32}), {0, 2, 3, 1}) * 2.0), Tiles({{32, 64}})) << "to channels-last";
  EXPECT_EQ(tiles_of(transpose(leaf({4096, 300})) * 2.0), Tiles({{15, 128}})) << "rows that divide";
  EXPECT_EQ(tiles_of(permute(leaf({40, 7, 50}), {2, 1, 0}) * 2.0), Tiles({{50, 40}})) << "what lies side by side is not the next loop";
  EXPECT_EQ(tiles_of(permute(leaf({2, 32, 32, 3}), {0, 3, 1, 2}) * 2.0), Tiles({{3, 512}})) << "fewer than a line";
  EXPECT_EQ(tiles_of(leaf({64, 1024}) * 2.0 + transpose(leaf({1024, 64}))), Tiles({{16, 128}, {16, 128}})) << "beside what is not";
}

TEST(ReadAcross, OtherTilesAreAsTheyWere) {
  using Tiles = std::vector<Shape>;
  EXPECT_EQ(tiles_of(permute(leaf({2, 7, 3, 1024}), {0, 2, 1, 3}) * 2.0), Tiles({{1, 1024}})) << "rows stay rows";
  EXPECT_EQ(tiles_of(leaf({64, 1024}) * reshape(leaf({64}), {64, 1})), Tiles({{2, 1024}, {2, 1}})) << "one number for each row";
  test::QueuedDevice& gpu = test::QueuedDevice::create();
  gpu.preference.kernels_take_long = true;
  EXPECT_EQ(tiles_of(permute(leaf({2, 32, 32, 64}), {0, 3, 1, 2}) * 2.0, gpu), Tiles({{1, 512}})) << "a device whose kernels are dear";
}

/// Numbers that every type has, no two neighbours alike.
double number(std::size_t i) { return static_cast<double>(i * 7 % 113); }

// Whole squares of every vector's length, and the remainders beside them.
TEST(ReadAcross, NumbersAreTheSame) {
  const Shape shape{2, 35, 3, 67};
  const auto count = static_cast<std::size_t>(numel(shape));
  std::vector<double> in(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = number(i);
  for (const DType dtype : {f32, f64, f16, bf16, i64, i32, i16, u8}) {
    const Tensor x = cast(tensor(in, shape), dtype);
    eval(x);
    for (const Dims& order : {Dims{0, 3, 1, 2}, Dims{0, 2, 3, 1}, Dims{3, 2, 1, 0}, Dims{1, 3, 0, 2}, Dims{3, 0, 1, 2}}) {
      const std::vector<double> got = (permute(x, order) + 1).to_host<double>();
      std::array<std::size_t, 4> steps{35 * 3 * 67, 3 * 67, 67, 1}, sizes{2, 35, 3, 67};
      std::size_t at = 0, wrong = 0;
      const auto size = [&](int k) { return sizes[static_cast<std::size_t>(order[k])]; };
      const auto step = [&](int k) { return steps[static_cast<std::size_t>(order[k])]; };
      for (std::size_t a = 0; a < size(0); ++a)
        for (std::size_t b = 0; b < size(1); ++b)
          for (std::size_t c = 0; c < size(2); ++c)
            for (std::size_t d = 0; d < size(3); ++d)
              wrong += got[at++] != number(a * step(0) + b * step(1) + c * step(2) + d * step(3)) + 1;
      EXPECT_EQ(wrong, 0u) << name(dtype) << " " << order[0] << order[1] << order[2] << order[3];
    }
  }
}

}  // namespace
}  // namespace tegula::compile
