#include "tegula/data/digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tests/io/files.h"

namespace tegula::data {
namespace {

constexpr std::size_t kPixels = 28 * 28;

TEST(Digits, HaveTheShapeDtypeAndRangeOfMnist) {
  const LabelledImages set = draw_digits(200, 1);
  EXPECT_EQ(set.images.shape, (Shape{200, 1, 28, 28}));
  EXPECT_EQ(set.images.dtype, f32);
  EXPECT_EQ(set.labels.shape, (Shape{200}));
  EXPECT_EQ(set.labels.dtype, i64);
  for (float v : set.images.values<float>()) {
    EXPECT_TRUE(v >= 0 && v <= 1);
    EXPECT_EQ(v, std::round(v * 255) / 255);
  }
}

TEST(Digits, EveryTenImagesHoldEachClassOnceInVaryingOrder) {
  const LabelledImages set = draw_digits(100, 1);
  const auto labels = set.labels.values<std::int64_t>();
  int in_order = 0;
  for (std::size_t i = 0; i < 100; i += 10) {
    std::array<std::int64_t, 10> ten;
    std::copy_n(labels.begin() + static_cast<std::ptrdiff_t>(i), 10, ten.begin());
    in_order += std::is_sorted(ten.begin(), ten.end());
    std::sort(ten.begin(), ten.end());
    for (std::size_t k = 0; k < 10; ++k) EXPECT_EQ(ten[k], static_cast<std::int64_t>(k));
  }
  EXPECT_LT(in_order, 5);
}

TEST(Digits, TheSameSeedGivesTheSameBitsAndASmallerSetIsAPrefix) {
  const LabelledImages a = draw_digits(57, 5), b = draw_digits(57, 5), prefix = draw_digits(23, 5), other = draw_digits(57, 6);
  EXPECT_EQ(std::memcmp(a.images.buffer->data(), b.images.buffer->data(), a.images.bytes()), 0);
  EXPECT_EQ(std::memcmp(a.images.buffer->data(), prefix.images.buffer->data(), prefix.images.bytes()), 0);
  EXPECT_EQ(std::memcmp(a.labels.buffer->data(), prefix.labels.buffer->data(), prefix.labels.bytes()), 0);
  EXPECT_NE(std::memcmp(a.images.buffer->data(), other.images.buffer->data(), a.images.bytes()), 0);
}

TEST(Digits, InkIsVisibleAndStaysOffTheBorder) {
  const LabelledImages set = draw_digits(2000, 2);
  const auto pixels = set.images.values<float>();
  double border = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    const auto image = pixels.subspan(i * kPixels, kPixels);
    const auto bright = std::count_if(image.begin(), image.end(), [](float v) { return v > 0.5f; });
    EXPECT_GT(bright, 15) << i;
    EXPECT_LT(bright, 350) << i;
    for (std::size_t k = 0; k < 28; ++k) {
      for (std::size_t at : {k, 27 * 28 + k, 28 * k, 28 * k + 27}) border += image[at] > 0.5f;
    }
  }
  EXPECT_LT(border / (2000 * 112), 0.005);
}

/// Correct answers of a test set by the nearest of the class means: a linear model.
TEST(Digits, AreTooVariedForClassMeansButNotRandom) {
  const LabelledImages train = draw_digits(4000, 3), test = draw_digits(1000, 4);
  std::array<std::array<float, kPixels>, 10> means{};
  for (std::size_t i = 0; i < 4000; ++i) {
    auto& mean = means[static_cast<std::size_t>(train.labels.values<std::int64_t>()[i])];
    for (std::size_t p = 0; p < kPixels; ++p) mean[p] += train.images.values<float>()[i * kPixels + p] / 400;
  }
  int correct = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    std::array<float, 10> distance{};
    for (std::size_t c = 0; c < 10; ++c) {
      for (std::size_t p = 0; p < kPixels; ++p) {
        const float d = test.images.values<float>()[i * kPixels + p] - means[c][p];
        distance[c] += d * d;
      }
    }
    correct += std::min_element(distance.begin(), distance.end()) - distance.begin() == test.labels.values<std::int64_t>()[i];
  }
  EXPECT_GT(correct, 500);
  EXPECT_LT(correct, 900);
}

TEST(Digits, RefuseANegativeCount) {
  EXPECT_ERROR(draw_digits(-1, 0), "draw_digits: got count -1");
  EXPECT_EQ(draw_digits(0, 0).size(), 0);
}

}  // namespace
}  // namespace tegula::data
