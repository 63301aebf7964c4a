// Rows of any length: on a GPU the long ones lie in shared memory, and still longer ones are shared by the blocks of a cluster.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/normalization.h"
#include "tegula/ops/rows/softmax.h"

namespace tegula {
namespace {

using Values = std::vector<double>;

/// The largest difference in units of `scale`, the size of the greatest value expected; infinite for a NaN.
double worst(const Tensor& got, const Values& expected) {
  const Values values = got.to_host<double>();
  double most = 0, scale = 1e-30;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(values[i] - expected[i]) / scale;
    most = std::isnan(error) ? HUGE_VAL : std::max(most, error);
  }
  return most;
}

class LongRows : public testing::TestWithParam<std::int64_t> {};

TEST_P(LongRows, AreNormalisedAndSummedRight) {
  const std::int64_t rows = 5, columns = GetParam();
  for (const DType dtype : {f32, bf16}) {
    const double tolerance = dtype == f32 ? 2e-5 : 1.0 / 128;
    Tensor x = cast(normal({rows, columns}) + 0.5, dtype), weight = cast(uniform({columns}) + 0.5, dtype),
           bias = cast(normal({columns}), dtype), labels = randint(0, columns, {rows});
    eval(x, weight, bias, labels);
    const Values in = x.to_host<double>(), w = weight.to_host<double>(), b = bias.to_host<double>(), label = labels.to_host<double>();
    Values softmaxes(in.size()), layers(in.size()), roots(in.size()), gradients(in.size());
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      const auto n = static_cast<std::size_t>(columns);
      const double* row = in.data() + r * n;
      const double top = *std::max_element(row, row + n);
      double exponents = 0, sum = 0, squares = 0, deviations = 0;
      for (std::size_t c = 0; c < n; ++c) exponents += std::exp(row[c] - top), sum += row[c], squares += row[c] * row[c];
      const double mean = sum / static_cast<double>(n);
      for (std::size_t c = 0; c < n; ++c) deviations += (row[c] - mean) * (row[c] - mean);
      const double layer = 1 / std::sqrt(deviations / static_cast<double>(n) + 1e-5),
                   root = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
      for (std::size_t c = 0; c < n; ++c) {
        const double p = std::exp(row[c] - top) / exponents;
        softmaxes[r * n + c] = p;
        layers[r * n + c] = (row[c] - mean) * layer * w[c] + b[c];
        roots[r * n + c] = row[c] * root * w[c];
        gradients[r * n + c] = (p - (static_cast<double>(c) == label[r] ? 1.0 : 0.0)) / static_cast<double>(rows);
      }
    }
    EXPECT_LE(worst(softmax(x), softmaxes), tolerance) << name(dtype);
    EXPECT_LE(worst(layer_norm(x, {columns}, {.weight = weight, .bias = bias}), layers), tolerance) << name(dtype);
    EXPECT_LE(worst(rms_norm(x, {columns}, {.weight = weight, .eps = 1e-5}), roots), tolerance) << name(dtype);
    EXPECT_LE(worst(grad(cross_entropy(cast(x, f32), labels), x), gradients), tolerance) << name(dtype);
  }
}

class ManyLongRows : public testing::TestWithParam<std::int64_t> {};

// On a GPU a few of them are one tile, and share what meets every row.
TEST_P(ManyLongRows, AreNormalisedRight) {
  const std::int64_t rows = 16, columns = GetParam();
  for (const DType dtype : {f32, bf16}) {
    const double tolerance = dtype == f32 ? 2e-5 : 1.0 / 128;
    const Tensor x = cast(normal({rows, columns}) + 0.5, dtype), weight = cast(uniform({columns}) + 0.5, dtype),
                 bias = cast(normal({columns}), dtype);
    eval(x, weight, bias);
    const Values in = x.to_host<double>(), w = weight.to_host<double>(), b = bias.to_host<double>();
    Values layers(in.size()), roots(in.size());
    const auto n = static_cast<std::size_t>(columns);
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      double sum = 0, squares = 0;
      for (std::size_t c = 0; c < n; ++c) sum += in[r * n + c], squares += in[r * n + c] * in[r * n + c];
      const double mean = sum / static_cast<double>(n), square = squares / static_cast<double>(n);
      for (std::size_t c = 0; c < n; ++c) {
        layers[r * n + c] = (in[r * n + c] - mean) / std::sqrt(square - mean * mean + 1e-5) * w[c] + b[c];
        roots[r * n + c] = in[r * n + c] / std::sqrt(square + 1e-5) * w[c];
      }
    }
    EXPECT_LE(worst(layer_norm(x, {columns}, {.weight = weight, .bias = bias}), layers), tolerance) << name(dtype);
    EXPECT_LE(worst(rms_norm(x, {columns}, {.weight = weight, .eps = 1e-5}), roots), tolerance) << name(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, ManyLongRows, testing::Values(8192, 32768, 40008, 65536, 100000, 131072, 262144));

// Whole vectors and not, one block and clusters of every size.
INSTANTIATE_TEST_SUITE_P(Lengths, LongRows, testing::Values(4096, 12288, 20001, 32768, 40008, 65536, 100000, 131072, 262144));

}  // namespace
}  // namespace tegula
