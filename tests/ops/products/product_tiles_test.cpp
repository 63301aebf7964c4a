// Products as tile programs: few rows, parts of the terms, epilogues, groups of rows; against the plain ops in f32, on the CPU and as generated for GPUs.

#include "tegula/ops/products/product_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/simt/card.h"
#include "tegula/simt/codegen.h"
#include "tegula/tegula.h"
#include "tegula/tile/builder.h"
#include "tests/support/emulator.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"
#include "tests/support/values.h"

namespace tegula::product_tiles {
namespace {

using ops::ProductTile;
using runtime::Expression;
using test::drawn;

/// Runs programs as cut and generated for a GPU of that architecture, their statements executed; 0: the CPU.
std::unique_ptr<test::OnDevice> on(int architecture, const std::function<void(const tile::Program&)>& see = {}) {
  if (architecture == 0) return {};
  auto& device = test::QueuedDevice::create();
  device.make_kernel = [=](const tile::Program& program) {
    if (see) see(program);
    return gpu::emulated_kernel(program, {.architecture = architecture});
  };
  device.preference = gpu::tiles_for({.architecture = architecture, .multiprocessors = 132});
  return std::make_unique<test::OnDevice>(device);
}

void expect_near(const Tensor& found, const Tensor& wanted, const std::string& what) {
  ASSERT_EQ(found.shape(), wanted.shape()) << what;
  const auto a = found.to_host<double>(), b = wanted.to_host<double>();
  double largest = 1;
  for (const double one : b) largest = std::max(largest, std::abs(one));
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], (found.dtype() == bf16 ? 8e-3 : 1e-3) * largest) << what << ", element " << i;
}

struct Size {
  std::int64_t m, n, k;
};
const ProductTile kTiles[] = {{.rows = 64, .columns = 64, .terms = 64},
                              {.rows = 64, .columns = 128, .terms = 64, .splits = 3},
                              {.rows = 64, .columns = 64, .terms = 64, .blocks = 4, .bulk = true},
                              {.rows = 16, .columns = 64, .terms = 64, .turned = true, .splits = 2},
                              {.rows = 32, .columns = 64, .terms = 32, .turned = true}};
void expect_like_matmul(const Size& s, const ProductTile& tile, DType dtype, const std::string& what) {
  for (const bool turned : {false, true}) {
    const Tensor a = drawn({s.m, s.k}, dtype), b = drawn(turned ? Shape{s.n, s.k} : Shape{s.k, s.n}, dtype);
    const Tensor wide = cast(b, f32);
    expect_near(ops::product_tiles(a, b, turned, tile), matmul(cast(a, f32), turned ? transpose(wide) : wide),
                std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + (turned ? " turned " : " ") + what);
  }
}
TEST(ProductTiles, AreThePlainProduct) {
  manual_seed(3);
  for (const ProductTile& tile : kTiles)
    for (const Size& s : {Size{5, 72, 200}, {70, 136, 264}, {1, 8, 8}})
      for (const DType dtype : {bf16, f16}) expect_like_matmul(s, tile, dtype, std::string(name(dtype)));
}
TEST(ProductTiles, AreTheSameAsGeneratedForGpus) {
  manual_seed(4);
  for (const int architecture : {90, 80}) {
    const auto here = on(architecture);
    for (ProductTile tile : kTiles) {
      expect_like_matmul({20, 136, 264}, tile, bf16, std::to_string(architecture));
      tile.specialize = true;
      expect_like_matmul({20, 72, 200}, tile, f16, "specialized " + std::to_string(architecture));
    }
  }
}

/// silu(result + bias by column) + a tensor.
Expression epilogue() {
  Expression all;
  all.read(Expression::Source::Result);
  const int channel = all.read(Expression::Source::Channel), tensor = all.read(Expression::Source::Tensor);
  const int operands[] = {0, channel, tensor};
  const bool appended = runtime::append(all, operands, bf16, [](tile::Builder&, std::span<const tile::Value> x) {
    const tile::Value sum = x[0] + x[1];
    return sum * tile::unary(tile::Word::Sigmoid, sum) + x[2];
  });
  EXPECT_TRUE(appended);
  return all;
}
TEST(ProductTiles, MakeTheResultOfTheSums) {
  manual_seed(5);
  for (const int architecture : {0, 90, 80}) {
    const auto here = on(architecture);
    for (const ProductTile& tile : kTiles) {
      const Tensor a = drawn({20, 200}, bf16), b = drawn({200, 136}, bf16), bias = drawn({136}, bf16), more = drawn({20, 136}, bf16);
      const Tensor sum = matmul(cast(a, f32), cast(b, f32)) + cast(bias, f32);
      const Tensor read[] = {bias, more};
      expect_near(ops::product_tiles(a, b, false, tile, epilogue(), read), sum * sigmoid(sum) + cast(more, f32),
                  std::to_string(architecture));
    }
  }
}

TEST(ProductTiles, GroupsOfRowsHaveMatricesOfTheirOwn) {
  manual_seed(6);
  const std::int64_t rows = 150, terms = 72, columns = 136;
  for (const int architecture : {0, 90, 80}) {
    const auto here = on(architecture);
    for (const std::vector<std::int64_t>& ends : {std::vector<std::int64_t>{70, 70, 71, 150}, {0, 64, 128, 140}, {150, 150, 150, 150}}) {
      const Tensor x = drawn({rows, terms}, bf16), weights = drawn({4, terms, columns}, bf16);
      std::vector<Tensor> parts;
      std::int64_t begin = 0;
      for (std::size_t g = 0; g < 4; ++g) {
        if (ends[g] > begin)
          parts.push_back(matmul(
              cast(slice(x, 0, {begin, ends[g]}), f32),
              cast(reshape(slice(weights, 0, {static_cast<std::int64_t>(g), static_cast<std::int64_t>(g) + 1}), {terms, columns}), f32)));
        begin = ends[g];
      }
      if (begin < rows) parts.push_back(zeros({rows - begin, columns}));
      expect_near(ops::grouped_product_tiles(x, weights, tensor(ends, {4}), {.rows = 64, .columns = 64, .terms = 64}), concat(parts, 0),
                  std::to_string(architecture) + " ends " + std::to_string(ends[0]));
    }
  }
}

TEST(ProductTiles, AreChosenBySize) {
  const ProductTile few = ops::choose_product_tile(16, 4096, 4096, 528), large = ops::choose_product_tile(4096, 4096, 4096, 528),
                    between = ops::choose_product_tile(256, 4096, 4096, 528);
  EXPECT_TRUE(few.turned);
  EXPECT_GE(few.splits * 4096 / few.columns, 132);
  EXPECT_FALSE(large.turned);
  EXPECT_EQ(large.splits, 1);
  EXPECT_EQ(large.rows * large.columns, 128 * 256);
  const auto instances = between.splits * ((256 + between.rows - 1) / between.rows) * (4096 / between.columns);
  EXPECT_GE(instances, 100);
  for (const std::int64_t m : {1, 17, 100, 300, 5000})
    for (const std::int64_t k : {8, 100, 768, 5000}) {
      const ProductTile tile = ops::choose_product_tile(m, 768, k, 528);
      const std::int64_t steps = (k + tile.terms - 1) / tile.terms, share = (steps + tile.splits - 1) / tile.splits;
      EXPECT_LT((tile.splits - 1) * share, steps) << m << " " << k;  // no part is empty
    }
}

TEST(ProductTiles, OfPartsAreTriedInAClusterToo) {
  for (const auto& [m, n, k] : {std::array{16, 4096, 4096}, {64, 4096, 4096}, {256, 1024, 8192}}) {
    const auto tiles = ops::product_tile_choices(m, n, k, 528);
    EXPECT_LE(tiles.size(), 4u);
    EXPECT_EQ(tiles.front(), ops::choose_product_tile(m, n, k, 528));
    EXPECT_EQ(tiles.front().blocks, 1);
    const auto shared = std::ranges::count_if(tiles, [](const ProductTile& tile) { return tile.blocks > 1 && tile.splits == 1; });
    EXPECT_EQ(shared, 1) << m;
  }
  for (const ProductTile& tile : ops::product_tile_choices(4096, 4096, 4096, 528)) EXPECT_EQ(tile.blocks, 1);
}

TEST(ProductTiles, ComeAsBoxesAndSpillNothing) {
  const bool compiles = gpu::nvrtc_available(nullptr);
  for (const ProductTile& tile :
       {ProductTile{.rows = 128, .columns = 128}, {.rows = 16, .columns = 64, .turned = true, .splits = 2}, {.rows = 64, .columns = 128}}) {
    std::vector<tile::Program> programs;
    const auto here = on(90, [&](const tile::Program& program) {
      if (program.name.ends_with("product_tiles")) programs.push_back(program);
    });
    eval(ops::product_tiles(drawn({16, 64}, bf16), drawn({64, 64}, bf16), false, tile));
    eval(ops::grouped_product_tiles(drawn({16, 64}, bf16), drawn({2, 64, 64}, bf16), tensor(std::vector<std::int64_t>{8, 16}, {2}), tile));
    ASSERT_EQ(programs.size(), 2u);
    for (const tile::Program& program : programs) {
      gpu::Specialisation facts{.facts = {}, .one_axis = true, .maps = true};
      for (const tile::Parameter& parameter : program.parameters) facts.facts.push_back(parameter.pointer ? 4 : 4 | gpu::kShort);
      const gpu::Generated code = gpu::generate(program, facts, 90);
      const bool has_boxes = code.source.find("copy_box<") != std::string::npos;
      EXPECT_TRUE(has_boxes || (tile.rows % 64 != 0 && program.name.starts_with("grouped"))) << gpu::decisions_of(program, facts, 90);
      if (!compiles) continue;
      testing::internal::CaptureStderr();
      const auto used = gpu::figures(gpu::with_prelude(code.source), 90).at(code.name);
      EXPECT_EQ(testing::internal::GetCapturedStderr().find("Performance Loss"), std::string::npos) << program.name;
      EXPECT_EQ(used.spill_stores, 0u) << program.name << used.registers;
    }
  }
}

}  // namespace
}  // namespace tegula::product_tiles
