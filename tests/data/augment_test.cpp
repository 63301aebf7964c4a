// Augmentation: the effect of each change on pixels, and the source of its random numbers.

#include "tegula/data/augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tegula/data/loader.h"
#include "tests/io/files.h"

namespace tegula::data {
namespace {

using Floats = std::vector<float>;

HostArray image(std::vector<float> pixels, Shape shape) { return HostArray::from(std::span<const float>(pixels), shape); }
Floats pixels_of(const HostArray& x) { return {x.values<float>().begin(), x.values<float>().end()}; }
HostArray three() { return image({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3}); }

TEST(Augment, FlipMirrorsRows) { EXPECT_EQ(pixels_of(flip(three())), (Floats{3, 2, 1, 6, 5, 4, 9, 8, 7})); }

TEST(Augment, CropTakesAWindowThatMayLieOutside) {
  EXPECT_EQ(pixels_of(crop(three(), 1, 1, 2, 2)), (Floats{5, 6, 8, 9}));
  EXPECT_EQ(pixels_of(crop(three(), -1, 2, 2, 2)), (Floats{0, 0, 3, 0}));
  EXPECT_EQ(pixels_of(crop(three(), -1, 2, 2, 2, Fill::Edge)), (Floats{3, 3, 3, 3}));
}

TEST(Augment, AffineMovesTurnsScalesAndShears) {
  EXPECT_EQ(pixels_of(affine(three(), {})), pixels_of(three()));
  EXPECT_EQ(pixels_of(affine(three(), {.down = 1})), (Floats{0, 0, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(pixels_of(affine(three(), {.right = 1}, Fill::Edge)), (Floats{1, 1, 2, 4, 4, 5, 7, 7, 8}));
  const Floats turned = pixels_of(affine(three(), {.degrees = 90}));  // anticlockwise: the right column comes to the top
  const Floats wanted{3, 6, 9, 2, 5, 8, 1, 4, 7};
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(turned[i], wanted[i], 1e-5) << i;
  const Floats large = pixels_of(affine(three(), {.scale = 2}));
  EXPECT_NEAR(large[4], 5, 1e-6);
  EXPECT_NEAR(large[5], 5.5, 1e-6);
  EXPECT_NEAR(large[8], 7, 1e-6);  // (5 + 6 + 8 + 9) / 4
  const Floats sheared = pixels_of(affine(three(), {.shear = 45}));
  for (const auto& [at, value] : {std::pair(3, 4.0), std::pair(4, 5.0), std::pair(5, 6.0), std::pair(0, 2.0), std::pair(8, 8.0)})
    EXPECT_NEAR(sheared[static_cast<std::size_t>(at)], value, 1e-5) << at;
}

TEST(Augment, ColourChangesBrightnessContrastAndSaturation) {
  const HostArray gray = image({0.2f, 0.4f, 0.6f, 0.8f}, {1, 2, 2});
  EXPECT_FLOAT_EQ(pixels_of(colour(gray, {.brightness = 2}))[1], 0.8f);
  EXPECT_FLOAT_EQ(pixels_of(colour(gray, {.brightness = 2}))[2], 1);  // cut off
  const Floats flat = pixels_of(colour(gray, {.contrast = 0}));
  for (const float x : flat) EXPECT_FLOAT_EQ(x, 0.5f);
  const HostArray red = image({1, 0, 0}, {3, 1, 1});
  for (const float x : pixels_of(colour(red, {.saturation = 0}))) EXPECT_NEAR(x, 0.299, 1e-6);
  EXPECT_EQ(pixels_of(colour(red, {})), (Floats{1, 0, 0}));
}

TEST(Augment, RandomChangesAreTheStreamsOwn) {
  const auto run = [](std::uint64_t seed) {
    RandomStream random(seed, 0);
    std::vector<Floats> out;
    for (int i = 0; i < 8; ++i) {
      out.push_back(pixels_of(RandomFlip{}(three(), random)));
      out.push_back(pixels_of(RandomCrop{.padding = 1}(three(), random)));
      out.push_back(pixels_of(RandomAffine{.degrees = 10, .scale = 0.1, .shear = 5, .move = 0.2}(three(), random)));
      out.push_back(pixels_of(RandomColour{.brightness = 0.2, .contrast = 0.2, .saturation = 0.2}(three(), random)));
      out.push_back(pixels_of(Cutout{2}(three(), random)));
    }
    return out;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Augment, RandomChangesHappenAsOftenAsTheySay) {
  RandomStream random(5, 0);
  int flips = 0;
  std::map<Floats, int> crops;
  std::map<int, int> holes;
  constexpr int kTimes = 4000;
  for (int i = 0; i < kTimes; ++i) {
    flips += pixels_of(RandomFlip{0.25}(three(), random))[0] == 3;
    ++crops[pixels_of(RandomCrop{.padding = 1}(three(), random))];
    const Floats cut = pixels_of(Cutout{1}(three(), random));
    for (int p = 0; p < 9; ++p) holes[p] += cut[static_cast<std::size_t>(p)] == 0;
  }
  EXPECT_NEAR(flips, kTimes / 4.0, 5 * std::sqrt(kTimes * 0.25 * 0.75));
  EXPECT_EQ(crops.size(), 9U);  // three places either way
  for (const auto& [window, times] : crops) EXPECT_NEAR(times, kTimes / 9.0, 5 * std::sqrt(kTimes / 9.0));
  for (const auto& [place, times] : holes) EXPECT_NEAR(times, kTimes / 9.0, 5 * std::sqrt(kTimes / 9.0));
}

TEST(Augment, ASetIsAugmentedTheSameWhateverTheWorkers) {
  std::vector<float> pixels(32 * 9);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i);
  const ArrayDataset set(image(pixels, {32, 1, 3, 3}), HostArray::empty(i64, {32}));
  const auto train = augmented(set, RandomFlip{}, RandomCrop{.padding = 1});
  std::vector<Floats> epochs;
  for (const int workers : {0, 4}) {
    Loader loader(train, {.batch = 8, .shuffle = true, .seed = 1, .workers = workers});
    for (int epoch = 0; epoch < 2; ++epoch) {
      Floats all;
      for (const auto& [x, y] : loader) {
        for (const float value : x.to_host()) all.push_back(value);
      }
      epochs.push_back(all);
    }
  }
  EXPECT_EQ(epochs[0], epochs[2]);
  EXPECT_EQ(epochs[1], epochs[3]);
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(Augment, MixupMixesImagesAndLabels) {
  const Sample a{image({1, 0}, {2}), number(std::int64_t{0})}, b{image({0, 1}, {2}), number(std::int64_t{2})};
  const Sample both = mixed(a, b, 0.75, 3);
  EXPECT_EQ(pixels_of(both[0]), (Floats{0.75f, 0.25f}));
  EXPECT_EQ(pixels_of(both[1]), (Floats{0.75f, 0, 0.25f}));
  EXPECT_EQ(pixels_of(mixed(a, a, 0.25, 3)[1]), (Floats{1, 0, 0}));
  EXPECT_ERROR(mixed(a, b, 0.5, 2), "label 2");
  EXPECT_ERROR(mixed(a, {b[0]}, 0.5, 3), "samples that are not alike");
  HostArray labels = HostArray::empty(i64, {16});
  std::fill_n(labels.values<std::int64_t>().data(), 16, 1);
  Loader loader(mixup(ArrayDataset(HostArray::empty(f32, {16, 4}), labels), 3), {.batch = 4});
  const auto batch = loader.next();
  EXPECT_EQ(batch->y.shape(), (Shape{4, 3}));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(batch->y.to_host()[3 * i + 1], 1, 1e-6);
}

TEST(Augment, BetaHasTheMomentsOfItsDistribution) {
  for (const double alpha : {0.05, 0.2, 1.0, 2.0}) {
    RandomStream random(9, 0);
    double sum = 0, squares = 0;
    constexpr int kTimes = 20'000;
    for (int i = 0; i < kTimes; ++i) {
      const double x = beta(alpha, random);
      ASSERT_GE(x, 0);
      ASSERT_LE(x, 1);
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(sum / kTimes, 0.5, 5 * std::sqrt(variance / kTimes)) << alpha;
    EXPECT_NEAR(squares / kTimes, variance, 0.03 * variance + 0.002) << alpha;
  }
  RandomStream random(9, 0);
  EXPECT_ERROR(beta(0, random), "alpha 0");
}

TEST(Augment, WhatIsNoImageIsRefused) {
  RandomStream random(0, 0);
  EXPECT_ERROR(flip(HostArray::empty(u8, {3, 4, 4})), "flip: got u8(3, 4, 4), expected an image f32 (C, H, W)");
  EXPECT_ERROR(crop(three(), 0, 0, 0, 2), "a window of 0 x 2");
  EXPECT_ERROR(affine(three(), {.scale = 0}), "a scale of 0");
  EXPECT_ERROR((RandomCrop{.size = {9, 9}, .padding = 1}(three(), random)), "a window of (9, 9) in an image of (1, 3, 3)");
}

}  // namespace
}  // namespace tegula::data
