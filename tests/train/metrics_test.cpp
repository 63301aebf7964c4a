#include "tegula/train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/io/files.h"

namespace tegula::metrics {
namespace {

const Tensor scores = tensor({0.1f, 0.7f, 0.2f,   // 1, then 2
                              0.5f, 0.3f, 0.2f,   // 0, then 1
                              0.2f, 0.3f, 0.5f,   // 2, then 1
                              0.4f, 0.4f, 0.2f},  // 0 and 1 tie: the first counts
                             {4, 3});
const Tensor labels = tensor({std::int64_t{1}, std::int64_t{1}, std::int64_t{0}, std::int64_t{0}});

TEST(Metrics, AccuracyAndTopKCountRows) {
  EXPECT_EQ(accuracy(scores, labels), 0.5);
  EXPECT_EQ(top_k_accuracy(scores, labels, 2), 0.75);
  EXPECT_EQ(top_k_accuracy(scores, labels, 3), 1.0);
  EXPECT_EQ(predicted_classes(scores), (std::vector<std::int64_t>{1, 0, 2, 0}));
}

TEST(Metrics, TiesGoToTheEarlierClassAndNanNeverHits) {
  const Tensor tie = tensor({1.f, 1.f}, {1, 2});
  EXPECT_EQ(accuracy(tie, tensor({std::int64_t{0}})), 1.0);
  EXPECT_EQ(accuracy(tie, tensor({std::int64_t{1}})), 0.0);
  EXPECT_EQ(accuracy(tensor({std::nanf(""), 0.f}, {1, 2}), tensor({std::int64_t{0}})), 0.0);
}

TEST(Metrics, RefuseWhatDoesNotFit) {
  EXPECT_ERROR(accuracy(scores, tensor({std::int64_t{1}})), "labels (1,) i64");
  EXPECT_ERROR(accuracy(labels, labels), "scores (4,)");
  EXPECT_ERROR(top_k_accuracy(scores, labels, 4), "k = 4, expected 1 to 3");
}

// scikit-learn's example: truth 0 1 2 0 1 2, predicted 0 2 1 0 0 1.
TEST(ConfusionMatrix, GivesPrecisionRecallAndF1) {
  ConfusionMatrix matrix(3);
  const std::int64_t truth[] = {0, 1, 2, 0, 1, 2}, predicted[] = {0, 2, 1, 0, 0, 1};
  matrix.add(truth, predicted);
  EXPECT_EQ(matrix.total(), 6);
  EXPECT_EQ(matrix.count(1, 2), 1);
  EXPECT_EQ(matrix.count(2, 1), 2);
  EXPECT_DOUBLE_EQ(matrix.accuracy(), 2.0 / 6);
  EXPECT_DOUBLE_EQ(matrix.precision(0), 2.0 / 3);
  EXPECT_DOUBLE_EQ(matrix.recall(0), 1.0);
  EXPECT_DOUBLE_EQ(matrix.f1(0), 0.8);
  EXPECT_EQ(matrix.precision(1), 0);
  EXPECT_EQ(matrix.f1(2), 0);
  EXPECT_NEAR(matrix.macro_f1(), 0.8 / 3, 1e-15);
  EXPECT_NE(matrix.print().find("0.6667  1.0000  0.8000"), std::string::npos) << matrix.print();
}

TEST(ConfusionMatrix, CountsWhatScoresSay) {
  ConfusionMatrix matrix(3);
  matrix.add(scores, labels);
  EXPECT_DOUBLE_EQ(matrix.accuracy(), 0.5);
  EXPECT_EQ(matrix.count(0, 2), 1);
}

TEST(ConfusionMatrix, RefusesClassesItDoesNotHave) {
  ConfusionMatrix matrix(3);
  const std::int64_t inside[] = {0}, outside[] = {3};
  EXPECT_ERROR(matrix.add(inside, outside), "class 3, expected 0 to 2");
  EXPECT_EQ(matrix.total(), 0);
}

TEST(RunningMean, WeighsItsValues) {
  RunningMean mean;
  EXPECT_TRUE(std::isnan(mean.value()));
  mean.add(1, 3);
  mean.add(5);
  EXPECT_DOUBLE_EQ(mean.value(), 2);
  mean.reset();
  EXPECT_EQ(mean.weight(), 0);
}

}  // namespace
}  // namespace tegula::metrics
