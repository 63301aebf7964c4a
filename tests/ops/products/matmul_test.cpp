#include "tegula/ops/products/matmul.h"

#include <gtest/gtest.h>

#include "tegula/core/error.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/message.h"
#include "tests/support/op_check.h"

namespace tegula {
namespace {

std::vector<double> counting(std::int64_t n) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<double>(i % 7) - 3);
  return out;
}
Tensor counted(const Shape& shape) { return tensor(counting(numel(shape)), shape); }

INSTANTIATE_DECLARED_CASES(Matmul, matmul_cases());

TEST(Matmul, KnownProduct) {
  const Tensor y = matmul(tensor({1, 2, 3, 4, 5, 6}, {2, 3}), tensor({1, 0, 2, 1, 0, 3}, {3, 2}));
  EXPECT_EQ(y.to_host<int>(), (std::vector<int>{5, 11, 14, 23}));
}

TEST(Matmul, TransposesSlicesAndBroadcastsAreTakenAsTheyAre) {
  const Tensor a = counted({4, 5}), b = counted({6, 5});
  const auto expected = matmul(a, tensor(transpose(b).to_host<double>(), {5, 6})).to_host<double>();
  EXPECT_EQ(matmul(a, transpose(b)).to_host<double>(), expected);
  EXPECT_EQ(transpose(matmul(b, transpose(a))).to_host<double>(), expected);
  const Tensor wide = counted({4, 10});
  const Tensor every_other = slice(wide, {{}, {.step = 2}});  // neither stride is 1: copied
  EXPECT_EQ(matmul(every_other, transpose(b)).to_host<double>(),
            matmul(tensor(every_other.to_host<double>(), {4, 5}), transpose(b)).to_host<double>());
  const Tensor row = expand(counted({1, 5}), {4, 5});
  EXPECT_EQ(matmul(row, transpose(b)).to_host<double>(), matmul(tensor(row.to_host<double>(), {4, 5}), transpose(b)).to_host<double>());
}

TEST(Matmul, BiasAndActivationsFoldIntoTheProduct) {
  const Tensor x = counted({9, 5}), w = counted({4, 5}), b = counted({4});
  const Tensor plain = linear(x, w, b);
  const auto folded = relu(linear(x, w, b)).to_host<double>(), apart = relu(tensor(plain.to_host<double>(), {9, 4})).to_host<double>();
  EXPECT_EQ(folded, apart);
}

TEST(Matmul, ErrorsNameBothShapes) {
  EXPECT_NE(message_of([] {
              matmul(counted({3, 4}), counted({5, 6}));
            }).find("matmul: got shapes (3, 4) and (5, 6), expected the inner sizes (4 and 5) to be equal"),
            std::string::npos);
  EXPECT_NE(message_of([] { matmul(counted({3, 4}), counted({5, 4})); }).find("transpose the right operand"), std::string::npos);
  EXPECT_NE(message_of([] { matmul(counted({2, 3, 4}), counted({3, 4, 5})); }).find("leading axes that broadcast"), std::string::npos);
  EXPECT_NE(message_of([] { matmul(1.0, counted({3})); }).find("at least one axis"), std::string::npos);
  EXPECT_NE(message_of([] { linear(counted({2, 3}), counted({4, 5})); }).find("linear: got shapes (2, 3) and (4, 5)"), std::string::npos);
  EXPECT_NE(message_of([] { linear(counted({2, 5}), counted({4, 5}), counted({5})); }).find("a bias of shape (4,)"), std::string::npos);
  EXPECT_NE(message_of([] { bmm(counted({2, 3, 4}), counted({1, 4, 5})); }).find("bmm"), std::string::npos);
  EXPECT_NE(message_of([] { matmul(tensor({true, false}), tensor({true, true})); }).find("bool"), std::string::npos);
  EXPECT_NE(message_of([] { matmul(counted({3, 4}), counted({5, 6})); }).find("matmul_test.cpp:"), std::string::npos);
}

}  // namespace
}  // namespace tegula
