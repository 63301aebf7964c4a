// Promotion, broadcasting, errors and the graphs that are built.

#include <gtest/gtest.h>

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/check_gradients.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/promote.h"

namespace tegula {
namespace {

Tensor of(DType dtype, const Shape& shape = {2}) { return from_array(HostArray::empty(dtype, shape)); }
Tensor scalar_of(DType dtype) { return of(dtype, {}); }

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) { return error.what(); }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

void expect_mention(const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

// torch.promote_types where PyTorch has one; for integers numpy.promote_types; of floats of 8 bits the least that holds both. In the order of kAllDTypes.
TEST(Promotion, OfTwoTensorsIsPyTorchsAndNumPys) {
  constexpr std::size_t kCount = std::size(kAllDTypes);
  // clang-format off: a table
  constexpr DType table[kCount][kCount] = {
      {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64},
      {f64, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32},
      {f64, f32, f16, f32, f16, f16, f16, f16, f16, f16, f16, f16, f16, f16, f16},
      {f64, f32, f32, bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16},
      {f64, f32, f16, bf16, e4m3, f16, e4m3, e4m3, e4m3, e4m3, e4m3, e4m3, e4m3, e4m3, e4m3},
      {f64, f32, f16, bf16, f16, e5m2, e5m2, e5m2, e5m2, e5m2, e5m2, e5m2, e5m2, e5m2, e5m2},
      {f64, f32, f16, bf16, e4m3, e5m2, i64, i64, i64, i64, f64, i64, i64, i64, i64},
      {f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i32, i32, f64, i64, i32, i32, i32},
      {f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i16, f64, i64, i32, i16, i16},
      {f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, f64, i64, i32, i16, i8},
      {f64, f32, f16, bf16, e4m3, e5m2, f64, f64, f64, f64, u64, u64, u64, u64, u64},
      {f64, f32, f16, bf16, e4m3, e5m2, i64, i64, i64, i64, u64, u32, u32, u32, u32},
      {f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i32, i32, u64, u32, u16, u16, u16},
      {f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i16, u64, u32, u16, u8, u8},
      {f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u64, u32, u16, u8, boolean}};
  // clang-format on
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t k = 0; k < kCount; ++k) {
      const DType a = kAllDTypes[i], b = kAllDTypes[k];
      EXPECT_EQ(result_type("test", {of(a), of(b)}), table[i][k]) << name(a) << " with " << name(b);
      EXPECT_EQ(result_type("test", {scalar_of(a), scalar_of(b)}), table[i][k]) << name(a) << " with " << name(b);
    }
  }
}

TEST(Promotion, NumbersAndScalarsDecideOnlyByCategory) {
  EXPECT_EQ(result_type("test", {of(f16), 2.5}), f16);
  EXPECT_EQ(result_type("test", {of(f16), scalar_of(f64)}), f16);
  EXPECT_EQ(result_type("test", {of(i32), scalar_of(i64)}), i32);
  EXPECT_EQ(result_type("test", {of(i32), scalar_of(f64)}), f64);
  EXPECT_EQ(result_type("test", {of(i32), 2.5}), f32);
  EXPECT_EQ(result_type("test", {of(u8), -1}), u8);
  EXPECT_EQ(result_type("test", {of(boolean), 1}), i64);
  EXPECT_EQ(result_type("test", {of(boolean), true}), boolean);
  EXPECT_EQ(result_type("test", {of(boolean), 1.0}), f32);
  EXPECT_EQ(result_type("test", {scalar_of(f64), 1.0}), f64);
  EXPECT_EQ(result_type("test", {scalar_of(i32), 1}), i32);
  EXPECT_EQ(result_type("test", {1, 2.0}), f32);
}

TEST(Promotion, OfOpsByTheirKind) {
  EXPECT_EQ((of(i32) + of(i64)).dtype(), i64);
  EXPECT_EQ((of(i32) / of(i64)).dtype(), f32);
  EXPECT_EQ((of(f64) / 2).dtype(), f64);
  EXPECT_EQ(exp(of(i32)).dtype(), f32);
  EXPECT_EQ(exp(of(boolean)).dtype(), f32);
  EXPECT_EQ(exp(of(bf16)).dtype(), bf16);
  EXPECT_EQ((of(f32) < of(i64)).dtype(), boolean);
  EXPECT_EQ((of(boolean) + of(boolean)).dtype(), boolean);
  EXPECT_EQ((of(f32) && of(i8)).dtype(), boolean);
  EXPECT_EQ(where(of(boolean), 1.0, 0).dtype(), f32);
  EXPECT_EQ(where(of(boolean), of(f16), 0.0).dtype(), f16);
  EXPECT_EQ(floor(of(i32)).dtype(), i32);
  EXPECT_EQ(isnan(of(f16)).dtype(), boolean);
  EXPECT_EQ(cast(of(f16), i8).dtype(), i8);
  EXPECT_EQ(pow(of(i32), 2).dtype(), i32);
  EXPECT_EQ(pow(of(i32), 2.0).dtype(), f32);
}

TEST(Building, ElementwiseNodesHaveOneShapeAndOneDtype) {
  const Tensor y = of(f32, {4, 1, 3}) + of(i32, {2, 1});
  EXPECT_EQ(y.shape(), (Shape{4, 2, 3}));
  for (const auto& input : y.node()->inputs()) {
    EXPECT_EQ(input->shape(), y.shape());
    EXPECT_EQ(input->dtype(), f32);
  }
  const Tensor z = of(f32, {4}) * 2.0;
  EXPECT_EQ(z.node()->input(1).op().role(), Role::Scalar);
  EXPECT_EQ(z.node()->input(1).shape(), Shape{});
}

TEST(Building, PlainExponentsNeedNoPow) {
  const Tensor x = of(f32);
  EXPECT_EQ(pow(x, 2).node()->op().name(), "square");
  EXPECT_EQ(pow(x, 1).node()->op().name(), "identity");
  EXPECT_EQ(pow(x, 0.5).node()->op().name(), "sqrt");
  EXPECT_EQ(pow(x, -1).node()->op().name(), "reciprocal");
  EXPECT_EQ(pow(x, 2.5).node()->op().name(), "pow");
}

TEST(Building, GradientNodesKeepOnlyWhatTheyUse) {
  const Tensor x = of(f32), dy = of(f32);
  const auto gradient_inputs = [&](const Tensor& y) { return vjp({y}, {dy}, {x})[0].node()->inputs(); };
  const Tensor y = sigmoid(x);
  const auto inputs = gradient_inputs(y);
  ASSERT_EQ(inputs.size(), 2u);  // the result and its gradient, not x
  EXPECT_EQ(inputs[0], y.node());
  EXPECT_EQ(inputs[1], dy.node());
  EXPECT_EQ(vjp({x + 1}, {dy}, {x})[0].node(), dy.node());  // a derivative of 1
  EXPECT_EQ(vjp({x * 3}, {dy}, {x})[0].node()->op().name(), "multiply");
}

TEST(Errors, NameTheOpTheShapesAndTheLine) {
  const Tensor a = of(f32, {2, 3}), b = of(f32, {4});
  const int line = __LINE__ + 1;
  const std::string text = message_of([&] { a + b; });
  expect_mention(text, "add: got shapes (2, 3) and (4,)");
  expect_mention(text, "elementwise_rules_test.cpp:" + std::to_string(line));
  expect_mention(message_of([&] { where(of(boolean, {5}), a, 0.0); }), "where: got shapes (5,), (2, 3) and ()");
}

TEST(Errors, OfDtypesSayWhatToDo) {
  expect_mention(message_of([] { of(boolean) - of(boolean); }), "logical_xor");
  expect_mention(message_of([] { of(f32) & of(i32); }), "bitwise_and: got operands of dtype f32");
  expect_mention(message_of([] { of(boolean) << 1.0; }), "left_shift");
  expect_mention(message_of([] { relu(Tensor()); }), "relu: got an empty tensor");
  expect_mention(message_of([] { prelu(of(f32, {2, 3}), of(f32, {4})); }), "one for each of the 3 channels");
  expect_mention(message_of([] { maxout(of(f32, {2, 5}), 2); }), "maxout: got shape (2, 5)");
}

TEST(CheckGradients, AcceptsTheTruthAndNamesTheWorstElement) {
  const Tensor x = tensor<double>({0.5, 1.0, 2.0, 3.0}, {2, 2});
  EXPECT_NO_THROW(check_gradients([](const auto& in) { return sin(in[0]) * in[0]; }, {x}));
  const auto wrong = [](const std::vector<Tensor>& in) { return in[0] * graph::stop_gradient(in[0]); };
  const std::string text = message_of([&] { check_gradients(wrong, {x}); });
  expect_mention(text, "check_gradients: got gradient");
  expect_mention(text, "of input 0 at (");
  expect_mention(text, "central difference");
}

}  // namespace
}  // namespace tegula
