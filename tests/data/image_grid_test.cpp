// Images beside each other in one picture.

#include "tegula/data/image_grid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/ops/creation.h"
#include "tests/io/files.h"

namespace tegula::data {
namespace {

int at(const HostArray& picture, std::int64_t y, std::int64_t x, std::int64_t c = 0) {
  return picture.values<std::uint8_t>()[static_cast<std::size_t>((y * picture.shape[1] + x) * picture.shape[2] + c)];
}

TEST(ImageGrid, PlacesImagesRowAfterRowWithGapsBetween) {
  // Image n is n / 4 everywhere, but white at its last pixel.
  std::vector<float> values;
  for (int n = 0; n < 3; ++n) {
    for (int i = 0; i < 6; ++i) values.push_back(i == 5 ? 1.0f : static_cast<float>(n) / 4);
  }
  const HostArray picture = image_grid(tensor(values, {3, 1, 2, 3}), {.columns = 2, .enlarge = 2, .gap = 1});
  ASSERT_EQ(picture.shape, (Shape{9, 13, 1}));
  EXPECT_EQ(at(picture, 0, 0), 0);
  EXPECT_EQ(at(picture, 3, 5), 255);  // the white pixel, enlarged
  EXPECT_EQ(at(picture, 2, 4), 255);
  EXPECT_EQ(at(picture, 2, 3), 0);
  EXPECT_EQ(at(picture, 0, 6), 255);  // between
  EXPECT_EQ(at(picture, 0, 7), 64);
  EXPECT_EQ(at(picture, 5, 0), 128);  // the third is in the second row
  EXPECT_EQ(at(picture, 5, 8), 255);  // no image there
}

TEST(ImageGrid, TakesColoursPlainMatricesAndSamples) {
  const HostArray colours = image_grid(tensor({0.f, 1.f, 0.5f}, {1, 3, 1, 1}));
  ASSERT_EQ(colours.shape, (Shape{1, 1, 3}));
  EXPECT_EQ(at(colours, 0, 0, 0), 0);
  EXPECT_EQ(at(colours, 0, 0, 1), 255);
  EXPECT_EQ(at(colours, 0, 0, 2), 128);
  EXPECT_EQ(image_grid(ones({5, 4, 3})).shape, (Shape{4, 5 * 3 + 4 * 2, 1}));
  const std::vector<HostArray> samples{ones({1, 2, 2}).to_array(), zeros({1, 2, 2}).to_array()};
  const HostArray two = image_grid(samples, {.gap = 0});
  ASSERT_EQ(two.shape, (Shape{2, 4, 1}));
  EXPECT_EQ(at(two, 1, 1), 255);
  EXPECT_EQ(at(two, 1, 2), 0);
}

TEST(ImageGrid, CutsOffWhatNoPixelHolds) {
  const HostArray picture = image_grid(tensor({-3.f, 7.f, NAN, INFINITY}, {1, 1, 4}));
  EXPECT_EQ(at(picture, 0, 0), 0);
  EXPECT_EQ(at(picture, 0, 1), 255);
  EXPECT_EQ(at(picture, 0, 2), 0);
  EXPECT_EQ(at(picture, 0, 3), 255);
}

TEST(ImageGrid, RefusesWhatIsNoImage) {
  EXPECT_ERROR(image_grid(ones({2, 2, 4, 4})), "(C, H, W) with 1 or 3 channels");
  EXPECT_ERROR(image_grid(ones({4, 4})), "f32(4, 4)");
  EXPECT_ERROR(image_grid(ones({1, 4, 4}, i64)), "i64(1, 4, 4)");
  EXPECT_ERROR(image_grid(ones({0, 4, 4})), "at least one image");
  EXPECT_ERROR(image_grid(std::vector<HostArray>{}), "no image");
  EXPECT_ERROR(image_grid(std::vector<HostArray>{ones({2, 2}).to_array(), ones({2, 3}).to_array()}), "f32(2, 3) beside f32(2, 2)");
  EXPECT_ERROR(image_grid(ones({1, 4, 4}), {.columns = 0}), "columns 0");
}

}  // namespace
}  // namespace tegula::data
