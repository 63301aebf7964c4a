// Learning rates; constants were computed with PyTorch 2.11.
#include <gtest/gtest.h>

#include <cmath>

#include <tegula/tegula.h>

namespace tegula::optim {
namespace {

void expect_rates(const Schedule& schedule, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(schedule(static_cast<std::int64_t>(i)), expected[i], 1e-11) << "step " << i;
}

TEST(Schedule, Step) { expect_rates(StepLR{.base = 1, .step_size = 3}, {1, 1, 1, 0.1, 0.1, 0.1, 0.01, 0.01}); }
TEST(Schedule, MultiStep) { expect_rates(MultiStepLR{.base = 1, .milestones = {2, 5}, .gamma = 0.5}, {1, 1, 0.5, 0.5, 0.5, 0.25, 0.25}); }
TEST(Schedule, Exponential) { expect_rates(ExponentialLR{.base = 1, .gamma = 0.9}, {1, 0.9, 0.81, 0.729}); }
TEST(Schedule, Constant) { expect_rates(ConstantLR{.base = 0.5}, {0.5, 0.5}); }

TEST(Schedule, Cosine) {
  expect_rates(InverseSqrtLR{.base = 2, .warmup = 4}, {0.5, 1, 1.5, 2, 2 * std::sqrt(4.0 / 5), 2 * std::sqrt(4.0 / 6)});
  expect_rates(CosineLR{.base = 1, .total = 5, .minimum = 0.1},
               {1, 0.914057647469, 0.689057647469, 0.410942352531, 0.185942352531, 0.1, 0.1});
}
TEST(Schedule, CosineWithWarmup) {
  expect_rates(CosineLR{.base = 1, .total = 6, .warmup = 2}, {0.5, 1, 1, 0.853553390593, 0.5, 0.146446609407, 0, 0});
}

TEST(Schedule, CosineRestarts) {
  const double low = 1 - std::sqrt(0.5), high = 1 + std::sqrt(0.5);  // twice the cosine's quarters
  expect_rates(CosineRestartsLR{.base = 1, .period = 2}, {1, 0.5, 1, 0.5, 1, 0.5});
  expect_rates(CosineRestartsLR{.base = 2, .period = 2, .multiplier = 2}, {2, 1, 2, high, 1, low, 2});
  expect_rates(CosineRestartsLR{.base = 1, .period = 1, .minimum = 0.25}, {1, 1, 1});
}

TEST(Schedule, OneCycle) {
  expect_rates(OneCycleLR{.maximum = 1, .total = 10}, {0.04, 0.52, 1, 0.950484632013, 0.81174565395, 0.611262021936, 0.388741978064,
                                                       0.18825834605, 0.0495193679865, 4e-06, 4e-06});
  expect_rates(OneCycleLR{.maximum = 1, .total = 10, .pct_start = 0.5, .anneal = Anneal::Linear},
               {0.04, 0.28, 0.52, 0.76, 1, 0.8000008, 0.6000016, 0.4000024, 0.2000032, 4e-06});
}

TEST(Schedule, LambdaAndRule) {
  expect_rates(LambdaLR{.base = 2, .factor = [](std::int64_t step) { return 1.0 / static_cast<double>(step + 1); }}, {2, 1, 2.0 / 3});
  expect_rates(RuleLR{.base = 1, .rule = [](double rate, std::int64_t step) { return step % 2 ? rate / 2 : rate; }}, {1, 0.5, 0.5, 0.25});
}

TEST(Schedule, PlateauReducesWhenTheMetricStopsImproving) {
  PlateauLR plateau{.base = 1, .factor = 0.5, .patience = 1, .cooldown = 1};
  const double metrics[] = {1, .9, .95, .95, .95, .95, .95, .95, .8, .8}, expected[] = {1, 1, 1, .5, .5, .5, .25, .25, .25, .25};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(plateau(metrics[i]), expected[i]) << "epoch " << i;
}

TEST(Schedule, PlateauOfAGrowingMetric) {
  PlateauLR plateau{.base = 1, .patience = 0, .goal = Goal::Max, .minimum = 0.05};
  EXPECT_EQ(plateau(0.5), 1);
  EXPECT_EQ(plateau(0.6), 1);
  EXPECT_EQ(plateau(0.6), 0.1);
  EXPECT_EQ(plateau(0.6), 0.05);
}

TEST(Schedule, SetsTheRateOfAnOptimizer) {
  Variable p = tensor({1.F});
  SGD sgd({{"p", p.cell()}});
  sgd.lr = StepLR{.base = 0.1, .step_size = 1}(2);
  EXPECT_DOUBLE_EQ(sgd.lr.read().item<double>(), 0.1 * 0.1 * 0.1);
}

TEST(Schedule, PlateauRecoversFromAMetricThatIsNoNumber) {
  for (const double first : {HUGE_VAL, std::nan("")}) {
    PlateauLR plateau{.base = 1, .patience = 1};
    plateau(first);
    for (const double metric : {5.0, 4.0, 3.0, 2.0, 1.0, 0.5}) EXPECT_EQ(plateau(metric), 1) << first << " then " << metric;
  }
  PlateauLR plateau{.base = 1, .patience = 1};
  EXPECT_EQ(plateau(5), 1);
  EXPECT_EQ(plateau(std::nan("")), 1);
  EXPECT_EQ(plateau(std::nan("")), 0.1);  // NaN is no improvement
}

TEST(Schedule, OneThatLastsNoStepIsRefused) {
  const auto message = [](auto schedule) {
    try {
      schedule(0);
    } catch (const Error& error) { return std::string(error.what()); }
    return std::string();
  };
  EXPECT_NE(message(CosineLR{.base = 0.1, .total = 0}).find("CosineLR: got total 0"), std::string::npos);
  EXPECT_NE(message(OneCycleLR{.maximum = 0.1, .total = -5}).find("OneCycleLR: got total -5"), std::string::npos);
  EXPECT_EQ(message(CosineLR{.base = 0.1, .total = 1, .warmup = 10}), "");  // a short try of a long recipe
}

}  // namespace
}  // namespace tegula::optim
