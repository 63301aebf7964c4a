#include <gtest/gtest.h>

#include <cmath>

#include <tegula/tegula.h>

namespace tegula::optim {
namespace {

using Values = std::vector<float>;

TEST(Clip, TheNormIsThatOfAllGradientsTogether) {
  const auto [clipped, norm] = clip_grad_norm({tensor({3.F}), tensor({0.F, 4.F})}, 1);
  EXPECT_FLOAT_EQ(norm.item(), 5);
  EXPECT_NEAR(clipped[0].item(), 0.6, 1e-6);
  EXPECT_NEAR(clipped[1].to_host()[1], 0.8, 1e-6);
}

TEST(Clip, ShortGradientsStayAsTheyAre) {
  const auto [clipped, norm] = clip_grad_norm({tensor({0.3F}), tensor({0.4F})}, 1);
  EXPECT_EQ(clipped[0].to_host(), (Values{0.3F}));
  EXPECT_FLOAT_EQ(norm.item(), 0.5);
}

TEST(Clip, HalvesDoNotOverflow) {
  const auto [clipped, norm] = clip_grad_norm({full({4}, 3e4, f16)}, 1);
  EXPECT_FLOAT_EQ(norm.item(), 6e4);
  EXPECT_EQ(clipped[0].dtype(), f16);
  EXPECT_NEAR(clipped[0].to_host()[0], 0.5, 1e-3);
}

TEST(Clip, ValuesAreLimited) { EXPECT_EQ(clip_grad_value({tensor({-3.F, 0.5F, 2.F})}, 1)[0].to_host(), (Values{-1, 0.5F, 1})); }

TEST(Clip, TheNormOfDoublesIsADouble) {
  const auto [clipped, norm] = clip_grad_norm({tensor({1.0, 1e-10}), tensor({1.0})}, 0.5);
  EXPECT_EQ(norm.dtype(), f64);
  EXPECT_EQ(norm.item<double>(), std::sqrt(2.0));
  EXPECT_EQ(clip_grad_norm({tensor({1.f})}, 0.5).norm.dtype(), f32);
}

}  // namespace
}  // namespace tegula::optim
