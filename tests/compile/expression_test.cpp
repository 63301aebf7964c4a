// Expressions: what the ops' formulas give in a tile program, behind a call and on the host.

#include "tegula/compile/expression.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/tegula.h"
#include "tegula/tile/builder.h"
#include "tests/support/values.h"

namespace tegula::compile {
namespace {

using Kind = Expression::Word::Kind;
using test::leaf;

/// The op of a tensor that is not computed yet.
Ref<const Op> op_of(const Tensor& x) { return x.node()->op_ref(); }

/// max(result, number 1), then min of that and number 2.
Expression limits() {
  Expression out;
  const int result = out.add({.kind = Kind::Result, .dtype = f32});
  const int low = out.add({.kind = Kind::Number, .input = 1, .dtype = f32});
  const Tensor x = leaf({4}), y = leaf({4});
  const int above = out.add({.op = op_of(maximum(x, y)), .operands = {result, low}, .dtype = f32});
  const int high = out.add({.kind = Kind::Number, .input = 2, .dtype = f32});
  out.add({.op = op_of(minimum(x, y)), .operands = {high, above}, .dtype = f32});
  return out;
}

TEST(Expression, AChainOfLimitsIsWordsBehindACall) {
  const auto behind = behind_call(limits());
  ASSERT_TRUE(behind.has_value());
  EXPECT_EQ(behind->words, (std::vector{tile::Word::Max, tile::Word::Min}));
}

TEST(Expression, WhatIsNoChainOfWordsStaysBehindNoCall) {
  Expression sum = limits();
  const Tensor x = leaf({4});
  sum.words.back().op = op_of(x + x);
  EXPECT_FALSE(behind_call(sum).has_value());
  Expression skips = limits();
  skips.words.back().operands = {3, 0};  // the first maximum is read by nobody
  EXPECT_FALSE(behind_call(skips).has_value());
}

TEST(Expression, NumbersOfTheHostAreRoundedAtEachOp) {
  const Tensor x = leaf({4});
  const std::vector<int> inputs{2, 0};
  const std::vector<std::uint64_t> numbers{std::bit_cast<std::uint64_t>(3.0), 0, std::bit_cast<std::uint64_t>(1.0)};
  EXPECT_EQ(number_of(Expression::of_numbers(op_of(x / x), inputs, f64), numbers), 1.0 / 3.0);
  EXPECT_EQ(number_of(Expression::of_numbers(op_of(x / x), inputs, f32), numbers), static_cast<double>(1.0f / 3.0f));
}

TEST(Expression, AValueInATileHasTheShapeOfItsPlaces) {
  tile::Builder builder("program");
  const tile::Value places = builder.arange(0, 8);
  Expression index;
  index.add({.kind = Kind::Index, .stride = 2, .offset = 3});
  EXPECT_EQ(emit(index, builder, places, 0, {}).shape(), Shape({8}));
  int reads = 0;
  const tile::Value y = emit(limits(), builder, places, 0, [&](const Expression::Word& word) {
    ++reads;
    return builder.scalar("x" + std::to_string(reads), word.dtype);
  });
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(y.shape(), Shape({8}));
}

}  // namespace
}  // namespace tegula::compile
