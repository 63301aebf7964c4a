#include "tegula/train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/shape/shape.h"
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
  EXPECT_DOUBLE_EQ(matrix.iou(0), 2.0 / 3);  // two right, one 1 called 0
  EXPECT_DOUBLE_EQ(matrix.iou(1), 0);
  EXPECT_DOUBLE_EQ(matrix.mean_iou(), 2.0 / 9);
  EXPECT_DOUBLE_EQ(matrix.precision(0), 2.0 / 3);
  EXPECT_DOUBLE_EQ(matrix.recall(0), 1.0);
  EXPECT_DOUBLE_EQ(matrix.f1(0), 0.8);
  EXPECT_EQ(matrix.precision(1), 0);
  EXPECT_EQ(matrix.f1(2), 0);
  EXPECT_NEAR(matrix.macro_f1(), 0.8 / 3, 1e-15);
  EXPECT_NE(matrix.print().find("0.6667  1.0000  0.8000"), std::string::npos) << matrix.print();
}

// scikit-learn's example of classification_report.
TEST(ConfusionMatrix, ReportsClassesByNameWithSupportAndAverages) {
  ConfusionMatrix matrix(std::vector<std::string>{"spam", "news", "letters"});
  const std::int64_t truth[] = {0, 1, 2, 2, 2}, predicted[] = {0, 0, 2, 2, 1};
  matrix.add(truth, predicted);
  EXPECT_EQ(matrix.name(1), "news");
  EXPECT_EQ(matrix.support(2), 3);
  EXPECT_NEAR(matrix.macro().precision, 0.5, 1e-12);
  EXPECT_NEAR(matrix.macro().recall, 5.0 / 9, 1e-12);
  EXPECT_NEAR(matrix.macro().f1, (2.0 / 3 + 0.8) / 3, 1e-12);
  EXPECT_NEAR(matrix.weighted().precision, 0.7, 1e-12);
  EXPECT_NEAR(matrix.weighted().recall, 0.6, 1e-12);
  EXPECT_NEAR(matrix.weighted().f1, (2.0 / 3 + 3 * 0.8) / 5, 1e-12);
  EXPECT_EQ(matrix.report(),
            "                   precision  recall      F1  support\n"
            "            spam      0.5000  1.0000  0.6667        1\n"
            "            news      0.0000  0.0000  0.0000        1\n"
            "         letters      1.0000  0.6667  0.8000        3\n"
            "   macro average      0.5000  0.5556  0.4889        5\n"
            "weighted average      0.7000  0.6000  0.6133        5\n"
            "        accuracy      0.6000                        5\n");
  const std::string table = matrix.print();
  EXPECT_NE(table.find("           spam    news letters   precision  recall      F1  support\n"), std::string::npos) << table;
  EXPECT_NE(table.find("letters       .       1       2      1.0000  0.6667  0.8000        3\n"), std::string::npos) << table;
  EXPECT_ERROR(ConfusionMatrix(std::vector<std::string>{"a", "b", "a"}), "two classes named a");
}

TEST(ConfusionMatrix, IsAPictureOfSharesWithItsCounts) {
  ConfusionMatrix matrix(std::vector<std::string>{"a", "b"});
  const std::int64_t truth[] = {0, 0, 0, 1}, predicted[] = {0, 0, 1, 1};
  matrix.add(truth, predicted);
  const io::Heatmap map = matrix.heatmap("letters");
  EXPECT_EQ(map.rows, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(map.values, (std::vector<double>{2.0 / 3, 1.0 / 3, 0, 1}));
  EXPECT_EQ(map.numbers, (std::vector<std::string>{"2", "1", "0", "1"}));
}

/// Values of scikit-learn 1.5.
TEST(Metrics, OfScoresOfOneClass) {
  const Tensor p = tensor({0.1, 0.4, 0.35, 0.8}, {4}), y = tensor({std::int64_t{0}, std::int64_t{0}, std::int64_t{1}, std::int64_t{1}});
  EXPECT_DOUBLE_EQ(roc_auc(p, y), 0.75);
  EXPECT_NEAR(average_precision(p, y), 0.8333333333333333, 1e-15);
  const Tensor ties = tensor({0.5, 0.5, 0.5, 0.1}, {4}), z = tensor({true, false, true, false});
  EXPECT_DOUBLE_EQ(roc_auc(ties, z), 0.75);
  EXPECT_NEAR(average_precision(ties, z), 2.0 / 3, 1e-15);
  EXPECT_DOUBLE_EQ(roc_auc(0.0 - p, y), 0.25);
  EXPECT_TRUE(std::isnan(roc_auc(p, tensor({true, true, true, true}))));
  EXPECT_TRUE(std::isnan(average_precision(p, tensor({false, false, false, false}))));
  EXPECT_ERROR(roc_auc(scores, labels), "scores (4, 3) and labels (4,) i64, expected (N,) both");
  EXPECT_ERROR(roc_auc(p, tensor({std::int64_t{0}, std::int64_t{2}, std::int64_t{1}, std::int64_t{1}})), "label 2, expected 0 or 1");
  EXPECT_ERROR(average_precision(tensor({std::nan(""), 0.0}, {2}), tensor({true, false})), "a score that is NaN");
}

TEST(Metrics, AucOfSeveralClassesIsTheMeanOfEachAgainstTheOthers) {
  double sum = 0;
  for (const std::int64_t c : {0, 1}) sum += roc_auc(select(scores, 1, c), labels == c);
  EXPECT_DOUBLE_EQ(macro_roc_auc(scores, labels), sum / 2);  // the third class has no row
}

/// Values of scikit-learn 1.5.
TEST(Metrics, OfNumbers) {
  const Tensor y = tensor({3.0, -0.5, 2.0, 7.0}, {4}), p = tensor({2.5, 0.0, 2.0, 8.0}, {4});
  EXPECT_NEAR(r2(p, y), 0.9486081370449679, 1e-12);
  EXPECT_DOUBLE_EQ(mean_absolute_error(p, y), 0.5);
  EXPECT_NEAR(root_mean_squared_error(p, y), 0.6123724356957945, 1e-12);
  EXPECT_TRUE(std::isnan(r2(p, tensor({1.0, 1.0, 1.0, 1.0}, {4}))));
  EXPECT_ERROR(r2(p, reshape(y, {4, 1})), "predictions (4,) and targets (4, 1), expected one shape");
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
