// Tensors from C++'s lists.

#include <gtest/gtest.h>

#include <array>

#include "tegula/graph/tensor.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

TEST(TensorOfLists, AMatrixIsAListOfRows) {
  const Tensor m = tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  EXPECT_EQ(m.shape(), (Shape{2, 3}));
  EXPECT_EQ(m.dtype(), f32);
  EXPECT_EQ(m.to_host(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tensor<std::int64_t>({{1}, {2}}).dtype(), i64);
  EXPECT_EQ(tensor({{true, false}}).dtype(), boolean);
  EXPECT_EQ(tensor({{1.f, 2.f}}).shape(), (Shape{1, 2}));
  EXPECT_ERROR(tensor({{1.f, 2.f}, {3.f}}), "a row of 1 numbers behind one of 2");
  EXPECT_ERROR(tensor({{1.f, 2.f}, {3.f}}), "lists_test.cpp:");
}

TEST(TensorOfLists, AnArrayIsAList) {
  const std::array<float, 4> values{1, 2, 3, 4};
  EXPECT_EQ(tensor(values).shape(), Shape{4});
  EXPECT_EQ(tensor(values, {1, 4}).to_host(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_ERROR(tensor(values, {3}), "lists_test.cpp:");
}

}  // namespace
}  // namespace tegula
