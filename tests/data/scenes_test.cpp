#include "tegula/data/scenes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tegula/io/draw_boxes.h"
#include "tests/io/files.h"

namespace tegula::data {
namespace {

TEST(Scenes, BoxesAreAroundTheStrokesOfTheMask) {
  const Scenes scenes = draw_scenes(30, 5);
  ASSERT_EQ(scenes.images.shape, (Shape{30, 1, 64, 64}));
  int objects = 0;
  for (std::int64_t i = 0; i < scenes.size(); ++i) {
    const Sample one = scenes.get(i);
    const auto boxes = one[1].values<float>();
    const auto classes = one[2].values<std::int64_t>(), mask = one[3].values<std::int64_t>();
    EXPECT_GE(classes[0], 0) << "a picture without a digit";
    for (std::size_t k = 0; k < classes.size(); ++k) {
      if (classes[k] < 0) {
        EXPECT_EQ(boxes[4 * k + 2], 0);
        continue;
      }
      ++objects;
      EXPECT_LE(classes[k], 9);
      EXPECT_LT(boxes[4 * k], boxes[4 * k + 2]);
      EXPECT_LE(boxes[4 * k + 3], 64);
      int own = 0;  // strokes of its class in its box
      for (std::int64_t y = std::int64_t(boxes[4 * k + 1]); y < std::int64_t(boxes[4 * k + 3]); ++y)
        for (std::int64_t x = std::int64_t(boxes[4 * k]); x < std::int64_t(boxes[4 * k + 2]); ++x)
          own += mask[static_cast<std::size_t>(64 * y + x)] == classes[k] + 1;
      EXPECT_GT(own, 15) << i << " " << k;
    }
    for (std::size_t p = 0; p < mask.size(); ++p) EXPECT_EQ(mask[p] > 0, one[0].values<float>()[p] > 0.35f);
  }
  EXPECT_GT(objects, 45);
}

TEST(Scenes, AreAPrefixOfMore) {
  const Scenes few = draw_scenes(3, 9, {.size = 48, .most = 2}), more = draw_scenes(6, 9, {.size = 48, .most = 2});
  EXPECT_TRUE(std::ranges::equal(few.images.values<float>(), more.images.values<float>().first(3 * 48 * 48)));
  EXPECT_TRUE(std::ranges::equal(few.classes.values<std::int64_t>(), more.classes.values<std::int64_t>().first(6)));
  EXPECT_EQ(draw_scenes(0, 1).size(), 0);
  EXPECT_ERROR(draw_scenes(-1, 0), "-1 pictures");
  EXPECT_ERROR(draw_scenes(1, 0, {.smallest = 2, .largest = 1}), "smallest <= largest");
}

TEST(DrawBoxes, ZoomsAndDrawsLinesInside) {
  HostArray picture = HostArray::empty(f32, {1, 3, 4});
  std::ranges::fill(picture.values<float>(), 0.5f);
  const std::array<io::DrawnBox, 1> boxes{{{{1, 0, 9, 3}, 3}}};
  const HostArray out = io::draw_boxes(picture, boxes, {.zoom = 5});
  ASSERT_EQ(out.shape, (Shape{15, 20, 3}));
  const auto pixels = out.values<std::uint8_t>();
  const auto at = [&](int y, int x) { return std::array{pixels[std::size_t(y * 20 + x) * 3], pixels[std::size_t(y * 20 + x) * 3 + 2]}; };
  EXPECT_EQ(at(7, 0)[0], 128);
  EXPECT_EQ(at(7, 5)[1], 200);   // the left line, blue
  EXPECT_EQ(at(7, 10)[1], 128);  // within the box
  EXPECT_EQ(at(7, 19)[1], 200);  // a box that leaves the picture ends at its edge
  EXPECT_ERROR(io::draw_boxes(HostArray::empty(f32, {2, 3, 4}), boxes), "draw_boxes: got a picture (2, 3, 4)");
}

}  // namespace
}  // namespace tegula::data
