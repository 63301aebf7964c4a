#include <gtest/gtest.h>

#include <tegula/tegula.h>
#include <cmath>

#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

namespace init = nn::init;

TEST(Init, FansCountTheWindow) {
  EXPECT_EQ(init::fans({6, 2, 3, 3}).in, 18);
  EXPECT_EQ(init::fans({6, 2, 3, 3}).out, 54);
}

// fan_in 100, fan_out 200
struct Case {
  const char* name;
  Tensor value;
  double deviation;
};
TEST(Init, DeviationsAreThoseOfThePapers) {
  manual_seed(3);
  const Shape shape{200, 100};
  const Case cases[] = {
      {"glorot_uniform", init::glorot_uniform(shape), std::sqrt(2.0 / 300)},
      {"glorot_normal, gain of tanh", init::glorot_normal(shape, {.gain = init::kTanhGain}), 5.0 / 3 * std::sqrt(2.0 / 300)},
      {"he_uniform", init::he_uniform(shape), std::sqrt(2.0 / 100)},
      {"he_normal", init::he_normal(shape), std::sqrt(2.0 / 100)},
      {"he_normal, fan out", init::he_normal(shape, {.mode = init::Fan::Out}), std::sqrt(2.0 / 200)},
      {"normal", init::normal(shape, 0, 0.5), 0.5},
      {"uniform", init::uniform(shape, -1, 1), 1 / std::sqrt(3.0)},
      {"truncated_normal at two deviations", init::truncated_normal(shape), 0.8796},
  };
  for (const Case& one : cases) {
    EXPECT_NEAR(stddev(one.value).item(), one.deviation, 0.02 * one.deviation) << one.name;
    EXPECT_NEAR(mean(one.value).item(), 0, 0.02 * one.deviation) << one.name;
  }
  EXPECT_LE(max(abs(init::truncated_normal(shape))).item(), 2);
  EXPECT_LE(max(abs(init::glorot_uniform(shape))).item(), std::sqrt(6.0 / 300) * (1 + 1e-6));
}

TEST(Init, OrthogonalRowsOrColumns) {
  const Tensor wide = init::orthogonal({3, 2, 4}, {.gain = 2});
  const Tensor flat = reshape(wide, {3, 8});
  expect_close(matmul(flat, transpose(flat)), {4, 0, 0, 0, 4, 0, 0, 0, 4}, 1e-5);
  const Tensor tall = init::orthogonal({5, 2});
  expect_close(matmul(transpose(tall), tall), {1, 0, 0, 1}, 1e-6);
}

TEST(Init, Constants) {
  expect_close(init::eye({2, 3}), {1, 0, 0, 0, 1, 0}, 2e-6);
  expect_close(init::constant({2}, 0.25), {0.25, 0.25}, 2e-6);
  EXPECT_EQ(init::zeros({2}, f64).dtype(), f64);
}

TEST(Init, LeakyReluGain) { EXPECT_NEAR(init::leaky_relu_gain(std::sqrt(5.0)), std::sqrt(1.0 / 3), 1e-12); }

}  // namespace
}  // namespace tegula
