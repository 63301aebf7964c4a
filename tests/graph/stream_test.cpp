// Values as text, as NumPy shows them.

#include <gtest/gtest.h>

#include <sstream>

#include "tegula/tegula.h"

namespace tegula {
namespace {

template <class T>
std::string streamed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST(Stream, TakesTensorsShapesDTypesAndVariables) {
  EXPECT_EQ(streamed(f32), "f32");
  EXPECT_EQ(streamed(boolean), "bool");
  EXPECT_EQ(streamed(Shape{2, 3}), "(2, 3)");
  EXPECT_EQ(streamed(Shape{}), "()");
  const Tensor x = tensor({1.5f, -2.f, 3.f, 40.f}, {2, 2});
  EXPECT_EQ(streamed(x), "[[1.5,  -2],\n [  3,  40]]  f32(2, 2)");
  EXPECT_EQ(streamed(x + 1), "[[2.5,  -1],\n [  4,  41]]  f32(2, 2)");  // computed for it
  EXPECT_EQ(streamed(Tensor(7)), "7  i64()");
  EXPECT_EQ(streamed(tensor({true, false})), "[ true, false]  bool(2,)");
  EXPECT_EQ(streamed(zeros({0, 3})), "[]  f32(0, 3)");
  EXPECT_EQ(streamed(Tensor()), "(empty)");
  Variable w = tensor({1.f, 2.f});
  EXPECT_EQ(streamed(w), "[1, 2]  f32(2,)");
  w = w * 2;
  EXPECT_EQ(streamed(w), "[2, 4]  f32(2,)");
  EXPECT_EQ(streamed(Variable()), "(empty)");
  EXPECT_EQ(streamed(left_shift(tensor({1, 2}), 3)), streamed(tensor({1, 2}) << 3));  // the shift is none of these
}

TEST(Stream, ElidesAsNumPyDoes) {
  EXPECT_EQ(streamed(arange(10)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]  i64(10,)");
  EXPECT_EQ(streamed(arange(1001)), "[   0,    1,    2, …,  998,  999, 1000]  i64(1001,)");
  // 1000 elements are all shown, in lines of at most 75 columns.
  const std::string all = streamed(arange(1000));
  EXPECT_EQ(all.find("…"), std::string::npos);
  EXPECT_NE(all.find("\n "), std::string::npos);
  std::istringstream lines(all);
  std::string line;
  int count = 0;
  for (; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 76U + 12U) << line;
  EXPECT_EQ(count, (1000 + 14) / 15);
  // Each axis of more than six, when there are more than 1000 elements.
  const std::string corner = streamed(reshape(arange(40 * 50), {40, 50}));
  EXPECT_EQ(
      corner,
      "[[   0,    1,    2, …,   47,   48,   49],\n [  50,   51,   52, …,   97,   98,   99],\n [ 100,  101,  102, …,  147,  148,  149],\n "
      "…,\n"
      " [1850, 1851, 1852, …, 1897, 1898, 1899],\n [1900, 1901, 1902, …, 1947, 1948, 1949],\n [1950, 1951, 1952, …, 1997, 1998, 1999]]  "
      "i64(40, 50)");
  EXPECT_EQ(streamed(zeros({300, 2, 2})).find("[0, 0]"), 2U);  // a short axis is shown whole
}

TEST(Stream, VariablesGiveTheirValuesAsTensorsDo) {
  Variable w = tensor({1.f, 2.f, 3.f});
  w = w * 2;
  EXPECT_EQ(w.to_host(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(w.to_host<std::int64_t>(), (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(w.print(), "[2, 4, 6]  f32(3,)");
  Variable rate = 0.5;
  EXPECT_EQ(rate.item(), 0.5f);
  EXPECT_EQ(rate.item<double>(), 0.5);
  auto f = jit([&](Tensor x) { return x * w.item(); });
  EXPECT_THROW(f(ones({3})), Error);
}

}  // namespace
}  // namespace tegula
