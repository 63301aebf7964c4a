// Expressions: what the ops' formulas give in a tile program, after a call and on the host.

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

/// The op as the epilogue of a call; `tensor`: it reads one before the result.
runtime::Expression epilogue_of(const Tensor& y, bool tensor = false) {
  runtime::Expression out;
  std::vector<int> operands;
  if (tensor) operands.push_back(out.read(runtime::Expression::Source::Tensor));
  else out.values.push_back({.source = runtime::Expression::Source::Result});
  operands.push_back(0);
  EXPECT_TRUE(append(out, static_cast<const ElementwiseOp&>(y.node()->op()), y.dtype(), operands));
  return out;
}

// Devices compare an epilogue with the words that the ops print, in every dtype.
TEST(Expression, OpsPrintTheEpiloguesThatLibrariesHave) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const Tensor x = leaf({4}, dtype), dy = leaf({4}, dtype);
    EXPECT_EQ(epilogue_of(relu(x)), runtime::relu(dtype));
    EXPECT_EQ(epilogue_of(gelu(x)), runtime::gelu(dtype));
    EXPECT_EQ(epilogue_of(gelu(x, Approximate::Tanh)), runtime::gelu_tanh(dtype));
    EXPECT_EQ(epilogue_of(sigmoid(x)), runtime::sigmoid(dtype));
    EXPECT_EQ(epilogue_of(tanh(x)), runtime::tanh(dtype));
    const Tensor slope = vjp({gelu(x, Approximate::Tanh)}, {dy}, {x})[0];
    ASSERT_EQ(slope.node()->op().name(), "gelu_tanh_gradient");
    EXPECT_EQ(epilogue_of(slope, true), runtime::gelu_tanh_gradient(dtype));
    EXPECT_FALSE(runtime::is_activation(epilogue_of(silu(x)), dtype));
  }
}

TEST(Expression, SumsAndProductsAreKnownByTheirWord) {
  const Tensor x = leaf({4}), y = leaf({4});
  const auto word = [](const Tensor& z) { return static_cast<const ElementwiseOp&>(z.node()->op()).word(); };
  EXPECT_EQ(word(x + y), tile::Word::Add);
  EXPECT_EQ(word(x * y), tile::Word::Mul);
  EXPECT_EQ(word(relu(x)), std::nullopt);
  EXPECT_EQ(word(lerp(x, y, 0.5)), std::nullopt);
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
