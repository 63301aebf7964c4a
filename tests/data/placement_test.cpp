// One change of places for picture, boxes and mask.

#include "tegula/data/objects/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tegula/data/loader.h"
#include "tegula/data/scenes.h"
#include "tests/io/files.h"

namespace tegula::data {
namespace {

using Floats = std::vector<float>;
using Numbers = std::vector<std::int64_t>;

template <class T>
HostArray array_of(const std::vector<T>& values, const Shape& shape) {
  return HostArray::from(std::span<const T>(values), shape);
}
template <class T>
std::vector<T> all_of(const HostArray& x) {
  return {x.values<T>().begin(), x.values<T>().end()};
}

/// 4 x 6 pixels with their own numbers, a mask of the same numbers, and two boxes of three.
Sample numbered() {
  Floats pixels(24);
  std::iota(pixels.begin(), pixels.end(), 1.0f);
  return {array_of(pixels, {1, 4, 6}), array_of<float>({1, 0, 3, 2, 4, 1, 6, 4, 0, 0, 0, 0}, {3, 4}),
          array_of<std::int64_t>({7, 8, -1}, {3}), array_of(Numbers(pixels.begin(), pixels.end()), {4, 6})};
}

/// Image and mask hold the same numbers.
void expect_mask_as_image(const Sample& sample) {
  const auto pixels = all_of<float>(sample[0]);
  const auto mask = all_of<std::int64_t>(sample[3]);
  ASSERT_EQ(pixels.size(), mask.size());
  for (std::size_t i = 0; i < mask.size(); ++i) EXPECT_EQ(static_cast<float>(mask[i]), pixels[i]) << i;
}

TEST(Placement, AFlipMovesImageMaskAndBoxes) {
  const Sample out = placed(numbered(), Placement(4, 6).flip());
  EXPECT_EQ(all_of<float>(out[0])[0], 6);
  EXPECT_EQ(all_of<float>(out[0])[23], 19);
  expect_mask_as_image(out);
  EXPECT_EQ(all_of<float>(out[1]), (Floats{3, 0, 5, 2, 0, 1, 2, 4, 0, 0, 0, 0}));
  EXPECT_EQ(all_of<std::int64_t>(out[2]), (Numbers{7, 8, -1}));
  const Sample down = placed(numbered(), Placement(4, 6).flip_down());
  EXPECT_EQ(all_of<float>(down[0])[0], 19);
  EXPECT_EQ(all_of<float>(down[1]), (Floats{1, 2, 3, 4, 4, 0, 6, 3, 0, 0, 0, 0}));
  const Sample twice = placed(placed(numbered(), Placement(4, 6).flip()), Placement(4, 6).flip());
  EXPECT_EQ(all_of<float>(twice[0]), all_of<float>(numbered()[0]));
}

TEST(Placement, ACropCutsBoxesOffAndDropsThoseThatLeave) {
  const Sample out = placed(numbered(), Placement(4, 6).crop(1, 2, 3, 3));
  EXPECT_EQ(all_of<float>(out[0]), (Floats{9, 10, 11, 15, 16, 17, 21, 22, 23}));
  expect_mask_as_image(out);
  // A quarter of the first box is left, and half of the second.
  EXPECT_EQ(all_of<float>(out[1]), (Floats{2, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(all_of<std::int64_t>(out[2]), (Numbers{8, -1, -1}));
  const Sample more = placed(numbered(), Placement(4, 6).crop(1, 2, 3, 3), {.visible = 0.2});
  EXPECT_EQ(all_of<float>(more[1]), (Floats{0, 0, 1, 1, 2, 0, 3, 3, 0, 0, 0, 0}));
  const Sample large = placed(numbered(), Placement(4, 6).crop(1, 2, 3, 3), {.visible = 0.2, .side = 1.5});
  EXPECT_EQ(all_of<std::int64_t>(large[2]), (Numbers{-1, -1, -1}));  // 1 x 1 and 1 x 3 are too narrow
}

TEST(Placement, BeyondTheEdgesIsWhatTheOptionsSay) {
  const Sample out = placed(numbered(), Placement(4, 6).crop(-1, -1, 2, 2), {.mask = -1});
  EXPECT_EQ(all_of<float>(out[0]), (Floats{0, 0, 0, 1}));
  EXPECT_EQ(all_of<std::int64_t>(out[3]), (Numbers{-1, -1, -1, 1}));
  const Sample edge = placed(numbered(), Placement(4, 6).crop(-1, -1, 2, 2), {.fill = Fill::Edge});
  EXPECT_EQ(all_of<float>(edge[0]), (Floats{1, 1, 1, 1}));
}

TEST(Placement, AnAffineChangeIsThatOfTheImageAlone) {
  for (const Affine& change : {Affine{.degrees = 20}, Affine{.scale = 1.3}, Affine{.shear = 15}, Affine{.down = 1.5, .right = -0.75},
                               Affine{.degrees = -35, .scale = 0.7, .shear = 8, .down = 1, .right = 2}}) {
    const Floats wanted = all_of<float>(affine(numbered()[0], change)),
                 got = all_of<float>(placed(numbered(), Placement(4, 6).affine(change))[0]);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-4) << i;
  }
}

TEST(Placement, AQuarterTurnTurnsBoxesExactly) {
  Sample square{array_of(Floats(16, 1.0f), {1, 4, 4}), array_of<float>({0, 1, 1, 4}, {1, 4}), array_of<std::int64_t>({0}, {1})};
  const auto box =
      all_of<float>(placed(square, Placement(4, 4).affine({.degrees = 90}))[1]);  // anticlockwise: the left column comes to the bottom
  for (const auto& [at, value] : {std::pair(0, 1.0), std::pair(1, 3.0), std::pair(2, 4.0), std::pair(3, 4.0)})
    EXPECT_NEAR(box[static_cast<std::size_t>(at)], value, 1e-5);
}

TEST(Placement, StepsFollowEachOtherAndHaveAnInverse) {
  Placement change(50, 80);
  change.flip().crop(5, 10, 30, 40).resize(60, 20).affine({.degrees = 17, .scale = 0.8, .shear = 5, .down = 2, .right = 3});
  EXPECT_EQ(change.height(), 60);
  EXPECT_EQ(change.width(), 20);
  for (const Placement::Point& at : {Placement::Point{0, 0}, {3, 50}, {20, 60}}) {
    const Placement::Point back = change.result(change.source(at));
    EXPECT_NEAR(back.x, at.x, 1e-9);
    EXPECT_NEAR(back.y, at.y, 1e-9);
  }
}

TEST(Placement, FittingKeepsTheRatioOfTheSides) {
  const Sample out = fitted(numbered(), 12, 12, {.mask = -1});
  ASSERT_EQ(out[0].shape, (Shape{1, 12, 12}));
  EXPECT_EQ(all_of<float>(out[1]), (Floats{2, 2, 6, 6, 8, 4, 12, 10, 0, 0, 0, 0}));
  EXPECT_EQ(all_of<float>(out[0])[0], 0);  // two rows above and below
  EXPECT_EQ(all_of<std::int64_t>(out[3])[12], -1);
  EXPECT_EQ(all_of<std::int64_t>(out[3])[24], 1);
  const Sample smaller = fitted({array_of(Floats(64, 0.5f), {1, 8, 8})}, 2, 4);
  const Floats wanted{0, 0.5f, 0.5f, 0, 0, 0.5f, 0.5f, 0};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(all_of<float>(smaller[0])[i], wanted[i], 1e-6) << i;
}

TEST(Placement, RandomChangesKeepBoxesAroundTheirStrokes) {
  const Scenes scenes = draw_scenes(40, 9);
  const RandomPlacement change{.flip = 0.5, .window = 0.6, .degrees = 10, .scale = 0.2, .move = 0.1, .options = {.visible = 0.9}};
  int boxes = 0;
  for (std::int64_t i = 0; i < scenes.size(); ++i) {
    RandomStream random(3, static_cast<std::uint64_t>(i)), again(3, static_cast<std::uint64_t>(i));
    const Sample out = change(scenes.get(i), random);
    EXPECT_EQ(all_of<float>(out[0]), all_of<float>(change(scenes.get(i), again)[0]));
    const auto corners = all_of<float>(out[1]);
    const auto classes = all_of<std::int64_t>(out[2]), mask = all_of<std::int64_t>(out[3]);
    for (std::size_t k = 0; k < classes.size() && classes[k] >= 0; ++k, ++boxes) {
      int own = 0;
      for (std::int64_t y = std::int64_t(corners[4 * k + 1]); y < std::int64_t(corners[4 * k + 3]); ++y)
        for (std::int64_t x = std::int64_t(corners[4 * k]); x < std::int64_t(corners[4 * k + 2]); ++x)
          own += mask[static_cast<std::size_t>(64 * y + x)] == classes[k] + 1;
      EXPECT_GT(own, 10) << i << " " << k;
    }
  }
  EXPECT_GT(boxes, 40);
}

TEST(Placement, AnAugmentedSetChangesSamplesAndImages) {
  const auto set = augmented(draw_scenes(4, 1), RandomPlacement{.flip = 1}, RandomColour{});
  const Scenes plain = draw_scenes(4, 1);
  RandomStream random(0, 0);
  const Sample out = set.get(2, random);
  EXPECT_EQ(all_of<float>(out[0]), all_of<float>(flip(plain.get(2)[0])));
  EXPECT_NE(all_of<float>(out[1]), all_of<float>(plain.get(2)[1]));
  Loader loader(set, {.batch = 4});
  EXPECT_EQ((*loader.next()).tensors.size(), 4u);
}

TEST(Placement, MistakesAreNamed) {
  EXPECT_ERROR(Placement(0, 3), "Placement: got 0 x 3 pixels");
  EXPECT_ERROR(Placement(4, 6).crop(0, 0, 0, 1), "Placement::crop: got 0 x 1 pixels");
  EXPECT_ERROR(Placement(4, 6).affine({.scale = 0}), "a scale of 0");
  EXPECT_ERROR(placed(numbered(), Placement(4, 5)), "got f32(1, 4, 6), expected an image f32 (C, 4, 5) first");
  EXPECT_ERROR(placed({}, Placement(4, 5)), "an empty sample");
  Sample without = numbered();
  without.erase(without.begin() + 2);
  EXPECT_ERROR(placed(without, Placement(4, 6)), "without classes behind them, expected i64 (3)");
  RandomStream random(0, 0);
  EXPECT_ERROR(RandomPlacement{.window = 0}(numbered(), random), "a window of 0");
}

}  // namespace
}  // namespace tegula::data
