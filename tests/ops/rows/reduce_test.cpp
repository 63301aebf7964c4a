// Reductions and scans: values by hand, ties, zeros, NaN and infinities, empty tensors, errors.

#include "tegula/ops/rows/reduce.h"

#include "tegula/ops/check_gradients.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/ops/shape/shape.h"
#include "tests/ops/shape_values.h"

namespace tegula {
namespace {

TEST(Reduce, AxesAndKeep) {
  const Tensor x = counted({2, 3});
  expect_values(sum(x), {15});
  expect_values(sum(x, 0), {3, 5, 7});
  expect_values(sum(x, -1), {3, 12});
  EXPECT_EQ(sum(x, {0, 1}, Keep::Yes).shape(), (Shape{1, 1}));
  EXPECT_EQ(max(x, 1, Keep::Yes).shape(), (Shape{2, 1}));
  expect_values(mean(x, 1), {1, 4});
  expect_part(refusal([&] { sum(x, 2); }), "sum: got axis 2 for shape (2, 3), expected an axis from -2 to 1");
  expect_part(refusal([&] { sum(x, {0, -2}); }), "sum: got axes (0, -2) for shape (2, 3), expected each axis once");
  expect_part(refusal([] { mean(arange(3)); }), "mean: got dtype i64, expected a float type");
}

TEST(Reduce, DtypesFollowPyTorch) {
  EXPECT_EQ(sum(counted({3}, u8)).dtype(), i64);
  EXPECT_EQ(sum(counted({3}, boolean)).dtype(), i64);
  EXPECT_EQ(prod(counted({3}, i8)).dtype(), i64);
  EXPECT_EQ(sum(counted({3}, f16)).dtype(), f16);
  EXPECT_EQ(max(counted({3}, i8)).dtype(), i8);
  EXPECT_EQ(sum(full({300}, 200, u8)).item<std::int64_t>(), 60000);
  EXPECT_EQ(cumsum(counted({3}, boolean), 0).dtype(), i64);
}

TEST(Reduce, MeansOfHalvesDoNotOverflow) {
  EXPECT_EQ(mean(full({5000}, 100.0, f16)).item(), 100.0f);
  EXPECT_EQ(var(full({5000}, 100.0, f16)).item(), 0.0f);
}

TEST(Reduce, NothingToReduce) {
  const Tensor none = zeros({0, 3}, f64);
  expect_values(sum(none, 0), {0, 0, 0});
  expect_values(prod(none), {1});
  expect_values(mean(none), {kNan});
  expect_values(any(none), {0});
  expect_values(all(none, 0), {1, 1, 1});
  expect_values(logsumexp(none, 0), {-kInfinite, -kInfinite, -kInfinite});
  expect_values(sum(none, 1), {});
  const int line = __LINE__ + 1;
  const std::string text = refusal([&] { max(none, 0); });
  expect_part(text, "max: got shape (0, 3) over axes (0,), expected at least one element");
  expect_part(text, "reduce_test.cpp:" + std::to_string(line));
  expect_part(refusal([&] { argmin(none, 0); }), "argmin: got shape (0, 3)");
  EXPECT_EQ(max(none, 1).shape(), (Shape{0}));
}

TEST(Reduce, NanWins) {
  const Tensor x = doubles({1, kNan, 3, 4, 5, 6}, {2, 3});
  expect_values(max(x, 1), {kNan, 6});
  expect_values(min(x, 1), {kNan, 4});
  expect_values(argmax(x, 1), {1, 2});
  expect_values(argmin(x), {1});
  expect_values(min(doubles({kInfinite, -kInfinite})), {-kInfinite});
  expect_values(norm(x, kInfinite), {kNan});
}

TEST(Reduce, PositionsAreOfTheFirst) {
  expect_values(argmax(doubles({1, 3, 3, 0})), {1});
  expect_values(argmin(counted({4}, boolean)), {0});
  Values long_line(9000, 1.0);
  long_line[5000] = long_line[8000] = 7;
  expect_values(argmax(doubles(long_line)), {5000});
  long_line[6000] = long_line[7000] = kNan;
  expect_values(argmax(doubles(long_line)), {6000});
  expect_values(argmin(doubles(long_line)), {6000});
  // A few long lines, of which several instances have a share each.
  Values long_lines(2 * 40000, -kInfinite);
  expect_values(argmax(doubles(long_lines), 0), {0});
  long_lines[30000] = long_lines[39999] = 3, long_lines[40000 + 39998] = -7;
  expect_values(argmax(reshape(doubles(long_lines), {2, 40000}), 1), {30000, 39998});
  expect_values(argmin(reshape(doubles(long_lines), {2, 40000}), 1), {0, 0});
  long_lines[39000] = long_lines[39500] = kNan;
  expect_values(argmax(reshape(doubles(long_lines), {2, 40000}), 1), {39000, 39998});
  expect_values(argmin(reshape(doubles(long_lines), {2, 40000}), 1), {39000, 0});
  expect_values(argmax(reshape(cast(iota({40003}, 0) % 7, bf16), {1, 40003}), 1), {6});
  expect_values(argmax(full({3, 5000}, -kInfinite), 1), {0, 0, 0});
  EXPECT_EQ(argmax(counted({2, 3}), std::nullopt, Keep::Yes).shape(), (Shape{1, 1}));
}

TEST(Reduce, TiesShareTheGradient) {
  const Tensor x = doubles({3, 1, 3, 3});
  expect_values(grad(max(x), x), {1.0 / 3, 0, 1.0 / 3, 1.0 / 3}, 1e-15);
}

TEST(Reduce, ProductsWithZeros) {
  for (const Values& values : {Values{2, 3, 4}, Values{2, 0, 4}, Values{0, 3, 0}, Values{0, 0, 0}}) {
    const Tensor x = doubles(values);
    expect_values(grad(prod(x), x), {values[1] * values[2], values[0] * values[2], values[0] * values[1]});
    check_gradients([](const std::vector<Tensor>& in) { return prod(in[0]); }, {x});
    check_gradients([](const std::vector<Tensor>& in) { return cumprod(in[0], 0); }, {x});
    check_gradients([](const std::vector<Tensor>& in) { return grad(prod(in[0]), in[0]); }, {x});
  }
}

TEST(Reduce, NormsAndDeviationsAreFlatAtZero) {
  const Tensor zero = zeros({3}, f64), same = full({3}, 2.0, f64);
  for (double p : {0.5, 1.0, 1.5, 2.0, 3.0}) expect_values(grad(norm(zero, p), zero), {0, 0, 0});
  expect_values(grad(stddev(same), same), {0, 0, 0});
  expect_values(norm(doubles({3, -4})), {5});
  expect_values(norm(doubles({3, -4}), 1), {7});
  expect_values(norm(doubles({3, 0, -4}), 0), {2});
  expect_values(norm(doubles({3, 0, -4}), kInfinite), {4});
  expect_values(norm(doubles({3, 0, -4}), -kInfinite), {0});
  expect_values(norm(doubles({3, 4}), 3), {std::cbrt(91.0)}, 1e-15);
  expect_values(stddev(doubles({kNan, 1})), {kNan});
}

TEST(Reduce, VarianceDoesNotCancel) {
  expect_values(var(doubles({1e9 + 1, 1e9 + 2, 1e9 + 3})), {1});
  expect_values(var(doubles({1, 2, 3, 4}), {}, {.correction = 0}), {1.25});
  expect_values(var(doubles({1})), {kNan});
}

TEST(Reduce, LogsumexpAtTheEdges) {
  expect_values(logsumexp(doubles({1000, 1000})), {1000 + std::log(2)}, 1e-12);
  const Tensor x = doubles({-kInfinite, -kInfinite, 1, -kInfinite}, {2, 2});
  expect_values(logsumexp(x, 1), {-kInfinite, 1});
  expect_values(grad(sum(logsumexp(x, 1)), x), {0, 0, 1, 0});
  expect_values(logsumexp(doubles({kInfinite, 1})), {kInfinite});
  expect_values(logsumexp(doubles({kNan, 1})), {kNan});
}

TEST(Reduce, Truth) {
  expect_values(any(doubles({0, 0, 0, kNan}, {2, 2}), 1), {0, 1});
  expect_values(all(arange(3)), {0});
  expect_values(count_nonzero(doubles({0, 2, -1, 0})), {2});
}

TEST(Scan, DerivativesOfProductsHaveNoTroubleWithZeros) {
  for (const Values& values : {Values{2, 0, 3, 0, -1}, Values{0, 0, 0, 2}, Values{1, 2, 3, 4}, Values{5, 0, 2, 3}}) {
    const Tensor x = doubles(values);
    const auto product = [](const std::vector<Tensor>& in) { return cumprod(in[0], 0); };
    const auto slope = [&](const std::vector<Tensor>& in) { return grad(sum(square(product(in)) + product(in)), in[0]); };
    const auto curve = [&](const std::vector<Tensor>& in) { return grad(sum(slope(in) * in[0] + slope(in)), in[0]); };
    check_gradients(product, {x});
    check_gradients(slope, {x});
    check_gradients(curve, {x});
  }
}

TEST(Scan, ByHand) {
  expect_values(cumsum(counted({2, 3}), 0), {0, 1, 2, 3, 5, 7});
  expect_values(cumprod(doubles({2, 3, 0, 5}), 0), {2, 6, 0, 0});
  expect_values(cummax(doubles({1, 3, 2, kNan, 4}), 0), {1, 3, 3, kNan, kNan});
  expect_values(cummin(counted({3}, i8), 0), {0, 0, 0});
  expect_values(logcumsumexp(doubles({-1000, -kInfinite, 0, 1000}), 0), {-1000, -1000, 0, 1000});
  const Tensor x = doubles({-kInfinite, -kInfinite, 1});
  expect_values(grad(sum(logcumsumexp(x, 0)), x), {0, 0, 1});
  const Tensor y = doubles({1, 3, 3, 2});
  expect_values(grad(sum(cummax(y, 0)), y), {1, 3, 0, 0});
  const Tensor longest = cumsum(ones({3, 10000}, i32), 1);
  EXPECT_EQ(select(longest, 1, 9999).to_host<std::int64_t>(), (std::vector<std::int64_t>{10000, 10000, 10000}));
  expect_part(refusal([] { cumsum(counted({2}), 1); }), "cumsum: got axis 1 for shape (2,)");
}

}  // namespace
}  // namespace tegula
