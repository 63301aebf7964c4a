// Attention: as a call against its plain ops, which are its meaning.

#include "tegula/ops/products/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tegula/ops/rows/linear_cross_entropy.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/op_check.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::drawn;
using test::expect_close;

INSTANTIATE_DECLARED_CASES(Attention, attention_cases());
INSTANTIATE_DECLARED_CASES(LinearCrossEntropy, linear_cross_entropy_cases());

/// As the formula says it, on whatever layouts q, k and v have.
Tensor by_formula(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor s = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
  return matmul(softmax(where(iota(s.shape(), -1) <= iota(s.shape(), -2), s, -std::numeric_limits<double>::infinity())), v);
}

TEST(Attention, IsItsFormulaPlainAndInAJitWithGradients) {
  manual_seed(1);
  const Tensor packed = drawn({2, 150, 3 * 4 * 16}), weight = drawn({2, 150, 64});  // as a projection gives q, k and v
  const auto heads = [](const Tensor& x, std::int64_t i) {
    return permute(reshape(slice(x, 2, {i * 64, (i + 1) * 64}), {2, 150, 4, 16}), {0, 2, 1, 3});
  };
  const auto loss = [&](const Tensor& x, bool call) {
    const Tensor q = heads(x, 0), k = heads(x, 1), v = heads(x, 2);
    const Tensor y = call ? scaled_dot_product_attention(q, k, v, {.causal = true}) : by_formula(q, k, v);
    return sum(reshape(permute(y, {0, 2, 1, 3}), {2, 150, 64}) * weight);
  };
  const Tensor expected = grad(loss(packed, false), packed);
  expect_close(grad(loss(packed, true), packed), expected, 2e-5);
  auto step = jit([&](Tensor x) { return std::pair(loss(x, true), grad(loss(x, true), x)); });
  for (int i = 0; i < 3; ++i) {
    const auto [value, dx] = step(packed);
    expect_close(value, loss(packed, false), 2e-5);
    expect_close(dx, expected, 2e-5);
  }
  expect_close(grad(checkpoint([&](const std::vector<Tensor>& in) { return loss(in[0], true); }, {packed}), packed), expected, 2e-5);
}

TEST(Attention, HoldsNoScoresWhereTheDeviceHasACall) {
  const Layout heads = Layout::dense({1, 1, 128, 64});
  if (!default_device().takes(runtime::Attention{.q = {bf16, heads}, .k = {bf16, heads}, .v = {bf16, heads}}))
    GTEST_SKIP() << "plain ops hold them";
  const std::int64_t length = 2048;
  const Tensor q = drawn({1, 2, length, 16}), k = drawn({1, 2, length, 16}), v = drawn({1, 2, length, 16});
  auto step =
      jit([](Tensor q, Tensor k, Tensor v) { return grad(sum(scaled_dot_product_attention(q, k, v, {.causal = true})), {q, k, v}); });
  const std::size_t before = host_pool_counters().bytes_in_use;
  const auto gradients = step(q, k, v);
  // The scores of one head alone would be 16 MiB.
  EXPECT_LT(host_pool_counters().bytes_in_use - before, std::size_t{6} << 20);
  const auto expected = grad(sum(by_formula(q, k, v)), {q, k, v});
  for (std::size_t i = 0; i < 3; ++i) expect_close(gradients[i], expected[i], 1e-4);
}

TEST(Attention, KeepsItsSumsInF32UnderMixedPrecision) {
  const PrecisionScope scope(Precision::bf16);
  for (const DType dtype : {f32, bf16}) {
    const Tensor q = drawn({1, 2, 9, 8}, dtype), k = drawn({1, 2, 9, 8}, dtype), v = drawn({1, 2, 9, 8}, dtype);
    auto step = jit([](Tensor q, Tensor k, Tensor v) {
      return grad(sum(cast(scaled_dot_product_attention(q, k, v, {.causal = true}), f32)), {q, k, v});
    });
    const auto got = step(q, k, v);
    const auto wide = [](const Tensor& x) { return cast(x, f64); };
    const auto expected = grad(sum(by_formula(wide(q), wide(k), wide(v))), {q, k, v});
    for (std::size_t i = 0; i < 3; ++i) expect_close(got[i], expected[i], 0.03);
  }
}

TEST(Attention, OfPartsOfTheKeysJoinsByItsLogSumExp) {
  const Tensor q = drawn({2, 3, 5, 8}, f64), k = drawn({2, 3, 40, 8}, f64), v = drawn({2, 3, 40, 6}, f64);
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    return attention_with_log_sum_exp(q, slice(k, 2, {begin, end}), slice(v, 2, {begin, end}));
  };
  const Attended a = part(0, 13), b = part(13, 40), whole = attention_with_log_sum_exp(q, k, v);
  const Tensor total = log(exp(a.log_sum_exp) + exp(b.log_sum_exp));
  expect_close(total, whole.log_sum_exp, 1e-13);
  const auto share = [&](const Attended& of) { return unsqueeze(exp(of.log_sum_exp - total), -1) * of.output; };
  expect_close(share(a) + share(b), whole.output, 1e-13);
}

TEST(Attention, GivesZerosToQueriesThatSeeNothing) {
  const Tensor q = drawn({1, 2, 3, 4}), k = drawn({1, 2, 5, 4}), v = drawn({1, 2, 5, 4});
  const Tensor none = tensor<std::int64_t>({0});
  const Attended y = attention_with_log_sum_exp(q, k, v, {.lengths = none});
  for (double x : y.output.to_host<double>()) EXPECT_EQ(x, 0);
  for (double x : y.log_sum_exp.to_host<double>()) EXPECT_EQ(x, -std::numeric_limits<double>::infinity());
  for (const Tensor& dx : grad(sum(scaled_dot_product_attention(q, k, v, {.lengths = none})), {q, k, v})) {
    for (double x : dx.to_host<double>()) EXPECT_EQ(x, 0);
  }
}

TEST(Attention, CarriesNaNOfAScore) {
  Tensor q = drawn({1, 1, 3, 4}), k = drawn({1, 1, 5, 4});
  q = where(iota({1, 1, 3, 4}, 2) == 1, std::nan(""), q);
  const auto y = scaled_dot_product_attention(q, k, k).to_host<double>();
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(std::isnan(y[i]), i / 4 == 1) << i;
}

TEST(Attention, DropsAsItsWeightsWouldBeDropped) {
  const Tensor q = drawn({1, 2, 70, 8}), k = drawn({1, 2, 300, 8}), v = drawn({1, 2, 300, 8});
  Generator one(7), two(7);
  const Tensor y = scaled_dot_product_attention(q, k, v, {.dropout = 0.25, .generator = &one});
  expect_close(y, matmul(dropout(attention_weights(q, k), 0.25, &two), v), 2e-5);
}

TEST(Attention, RefusesWhatDoesNotFit) {
  const Tensor q = drawn({2, 4, 5, 8}), k = drawn({2, 2, 7, 8});
  const auto says = [&](const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options, const std::string& part) {
    const std::string text = message_of([&] { scaled_dot_product_attention(q, k, v, options).to_host(); });
    EXPECT_NE(text.find("scaled_dot_product_attention"), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(q, drawn({2, 2, 7, 9}), k, {}, "as many features");
  says(q, k, drawn({2, 2, 6, 8}), {}, "as many keys as values");
  says(q, drawn({2, 3, 7, 8}), drawn({2, 3, 7, 8}), {}, "a multiple of them of queries");
  says(q, drawn({1, 2, 7, 8}), k, {}, "equal axes before the heads");
  says(q, k, k, {.mask = ones({5, 6}, boolean)}, "a mask of shape (5, 6)");
  says(q, k, k, {.mask = ones({5, 7})}, "a mask of dtype f32");
  says(q, k, k, {.bias = ones({3, 5, 7})}, "a bias of shape (3, 5, 7)");
  says(q, k, k, {.lengths = tensor<std::int64_t>({7, 8})}, "a length of 8, expected 0 to the 7 keys");
  says(q, k, k, {.lengths = tensor<std::int64_t>({7})}, "integers of shape (2,)");
  says(q, k, k, {.dropout = 1}, "a probability below 1");
  says(q, k, k, {.window = -1}, "window = -1");
}

TEST(LinearCrossEntropy, IsCrossEntropyOfTheScoresWithoutThem) {
  manual_seed(2);
  const Tensor x = drawn({512, 32}), w = drawn({20000, 32}) * 0.2, labels = randint(0, 20000, {512});
  eval(w, labels);
  auto chunked = jit([](Tensor x, Tensor w, Tensor labels) {
    const Tensor loss = linear_cross_entropy(x, w, labels, {.chunk = 2000});
    const auto d = grad(loss, {x, w});
    return std::vector<Tensor>{loss, d[0], d[1]};
  });
  const std::size_t before = host_pool_counters().bytes_in_use;
  const auto got = chunked(x, w, labels);
  // The scores would be 39 MiB.
  EXPECT_LT(host_pool_counters().bytes_in_use - before, std::size_t{24} << 20);
  const Tensor loss = cross_entropy(linear(x, w), labels);
  const auto d = grad(loss, {x, w});
  expect_close(got[0], loss, 1e-5);
  expect_close(got[1], d[0], 1e-5);
  expect_close(got[2], d[1], 1e-5);
}

}  // namespace
}  // namespace tegula
