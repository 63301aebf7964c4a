// Epilogues as data: composed, taken apart, and compared with those that libraries have.

#include <gtest/gtest.h>

#include <random>

#include "tegula/runtime/call_description.h"
#include "tegula/tile/builder.h"

namespace tegula::runtime {
namespace {

using Source = Expression::Source;

std::vector<const Expression*> activations(DType dtype) {
  return {&relu(dtype), &gelu(dtype), &gelu_tanh(dtype), &sigmoid(dtype), &tanh(dtype)};
}

TEST(Expression, SumsAreTakenApartAsTheyWereComposed) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    std::vector<const Expression*> all = activations(dtype);
    const Expression none;
    all.push_back(&none);
    for (const Expression* rest : all) {
      for (const bool channel : {false, true}) {
        for (const bool tensor : {false, true}) {
          const Expression whole = expression_of({.channel = channel, .tensor = tensor, .rest = *rest});
          const Sums parts = sums_of(whole);
          EXPECT_EQ(parts.channel, channel) << to_string(whole);
          EXPECT_EQ(parts.tensor, tensor) << to_string(whole);
          EXPECT_EQ(parts.rest, *rest) << to_string(whole);
          std::vector<Source> reads;
          if (channel) reads.push_back(Source::Channel);
          if (tensor) reads.push_back(Source::Tensor);
          EXPECT_EQ(whole.reads(), reads);
        }
      }
    }
  }
}

TEST(Expression, KnownOnesDifferFromEachOtherAndNoneIsAnother) {
  const auto all = activations(DType::f32);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(is_activation(*all[i], DType::bf16));
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(*all[i], *all[k]);
  }
  EXPECT_FALSE(is_activation(gelu_tanh_gradient(DType::f32), DType::f32));
  EXPECT_FALSE(is_activation({}, DType::f32));
  EXPECT_FALSE(is_activation(expression_of({.channel = true, .rest = relu(DType::f32)}), DType::f32));
}

// A value used beside the sum that it went into: nothing of that is a sum.
TEST(Expression, AReadThatIsUsedAgainIsNoTermOfASum) {
  Expression e;
  const int bias = e.read(Source::Channel);
  e.values.push_back({.word = tile::Word::Add, .operands = {0, bias, -1}});
  e.values.push_back({.word = tile::Word::Mul, .operands = {2, bias, -1}});
  const Sums parts = sums_of(e);
  EXPECT_FALSE(parts.channel);
  EXPECT_EQ(parts.rest, e);
}

TEST(Expression, LimitsTakeTheirNumbersInOrder) {
  const auto limited = [](Expression e, bool swapped) {
    const int low = e.read(Source::Number), high = e.read(Source::Number);
    const int value = low - 1;
    e.values.push_back({.word = tile::Word::Max, .operands = {value, swapped ? high : low, -1}});
    e.values.push_back({.word = tile::Word::Min, .operands = {high + 1, swapped ? low : high, -1}});
    return e;
  };
  Limits limits;
  ASSERT_TRUE(are_limits(limited(relu(DType::f32), false), DType::f32, limits));
  EXPECT_TRUE(limits.relu);
  EXPECT_EQ(limits.words, (std::vector{tile::Word::Max, tile::Word::Min}));
  limits = {};
  ASSERT_TRUE(are_limits({}, DType::f32, limits));
  EXPECT_FALSE(limits.relu || !limits.words.empty());
  EXPECT_FALSE(are_limits(limited({}, true), DType::f32, limits = {}));
  EXPECT_FALSE(are_limits(gelu(DType::f32), DType::f32, limits = {}));
}

TEST(Expression, AFormulaOfOtherWordsIsNoneAndNothingIsAppended) {
  Expression e = relu(DType::f32);
  const Expression before = e;
  const int result = 0;
  EXPECT_FALSE(append(e, {&result, 1}, DType::f32, [](tile::Builder&, std::span<const tile::Value> x) { return cast(x[0], DType::i32); }));
  EXPECT_FALSE(append(e, {&result, 1}, DType::f32, [](tile::Builder&, std::span<const tile::Value> x) { return x[0] < 0.0; }));
  EXPECT_FALSE(append(e, {&result, 1}, DType::f32, [](tile::Builder&, std::span<const tile::Value> x) { return x[0]; }));
  EXPECT_EQ(e, before);
}

}  // namespace
}  // namespace tegula::runtime
