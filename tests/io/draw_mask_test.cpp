#include "tegula/io/draw_mask.h"

#include <gtest/gtest.h>

#include "tests/io/files.h"

namespace tegula::io {
namespace {

TEST(DrawMask, ClassesAreMixedWithTheirColours) {
  const std::vector<float> pixels{0, 0.5f, 1};
  const std::vector<std::int64_t> classes{0, 1, -1};
  const HostArray picture = HostArray::from(std::span<const float>(pixels), {1, 1, 3}),
                  mask = HostArray::from(std::span<const std::int64_t>(classes), {1, 3});
  const HostArray out = draw_mask(picture, mask);
  ASSERT_EQ(out.shape, (Shape{3, 1, 3}));
  const auto values = out.values<float>();
  EXPECT_EQ(values[0], 0);
  EXPECT_FLOAT_EQ(values[1], 0.25f + 0.5f * 230 / 255);
  EXPECT_FLOAT_EQ(values[4], 0.25f + 0.5f * 25 / 255);
  EXPECT_EQ(values[2], 1);
  EXPECT_FLOAT_EQ(draw_mask(picture, mask, {.strength = 1, .ground = -5}).values<float>()[1], 230.0f / 255);
  EXPECT_ERROR(draw_mask(picture, picture), "draw_mask: got a picture (1, 1, 3) of f32, a mask (1, 1, 3) of f32");
  EXPECT_ERROR(draw_mask(picture, mask, {.strength = 2}), "a strength from 0 to 1");
}

}  // namespace
}  // namespace tegula::io
