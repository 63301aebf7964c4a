// Lines that an index names are read by the programs that compute with them: values, gradients, checks, and where they must be kept apart.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/ops/check_gradients.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/occurrences.h"

namespace tegula {
namespace {

template <class F, class... Args>
std::string plan_of(F f, const Args&... args) {
  auto jitted = jit(f);
  jitted(args...);
  return jitted.print_plan();
}
int steps(const std::string& plan) { return test::occurrences(plan, "\n") - 1; }  // the last line is the arena's

/// Numbers that differ from place to place.
Tensor counted(const Shape& shape, DType dtype = f64) { return cast(reshape(arange(numel(shape)), shape), dtype) + cast(1, dtype); }

std::vector<double> numbers(const Tensor& x) { return cast(x, f64).to_host<double>(); }

/// y[o, k, i] = x[o, index[k], i] along an axis, by loops.
std::vector<double> lines(const Tensor& x, int axis, const std::vector<std::int64_t>& index) {
  const std::vector<double> from = numbers(x);
  const std::int64_t outer = numel(x.shape(), 0, axis), length = x.shape()[axis], inner = numel(x.shape(), axis + 1, x.rank());
  std::vector<double> out;
  for (std::int64_t o = 0; o < outer; ++o)
    for (const std::int64_t line : index)
      for (std::int64_t i = 0; i < inner; ++i)
        out.push_back(from[static_cast<std::size_t>((o * length + (line < 0 ? line + length : line)) * inner + i)]);
  return out;
}

TEST(FoldLines, TwoTablesAndTheirSumAreOneProgram) {
  const Tensor a = counted({5, 8}, f32), b = counted({7, 8}, f32);
  const Tensor i = tensor<std::int64_t>({4, 0, -1, 2, 2, 3}), k = tensor<std::int64_t>({6, 1, 0, -7, 5, 5});
  const auto f = [&](const Tensor& x, const Tensor& y) { return relu(take(x, i, 0) - take(y, k, 0)); };
  EXPECT_EQ(steps(plan_of(f, a, b)), 1) << plan_of(f, a, b);
  const std::vector<double> x = lines(a, 0, {4, 0, 4, 2, 2, 3}), y = lines(b, 0, {6, 1, 0, 0, 5, 5});
  const std::vector<double> got = numbers(jit(f)(a, b));
  for (std::size_t at = 0; at < got.size(); ++at) EXPECT_EQ(got[at], std::max(x[at] - y[at], 0.0)) << at;
}

TEST(FoldLines, AlongEveryAxisOfEveryLayoutAndDtype) {
  for (const DType dtype : {f64, f32, f16, bf16, i64, i32, i8, u8})
    for (const Shape& shape : {Shape{6}, Shape{6, 1}, Shape{6, 3}, Shape{4, 6, 2}, Shape{3, 5, 6}, Shape{6, 4, 0}, Shape{6, 40, 70}}) {
      const Tensor x = remainder(counted(shape, i64), 100);
      for (int axis = 0; axis < x.rank(); ++axis) {
        const std::int64_t length = shape[axis];
        if (length == 0) continue;
        const std::vector<std::int64_t> named{length - 1, 0, -length, -1, length / 2};
        const auto f = [&](const Tensor& from) { return take(from, tensor(named, {5}), axis) + cast(1, from.dtype()); };
        std::vector<double> expected = lines(x, axis, named);
        for (double& value : expected) value += 1;
        EXPECT_EQ(numbers(jit(f)(cast(x, dtype))), expected) << to_string(shape) << " axis " << axis << " " << name(dtype);
        const Tensor turned = transpose(unsqueeze(cast(x, dtype), -1), -1, -2);
        eval(turned);
        EXPECT_EQ(numbers(jit([&](const Tensor& from) { return f(squeeze(transpose(from, -1, -2), -1)); })(turned)), expected);
      }
    }
}

TEST(FoldLines, ATableOfTheSameShapeIsWholeBeforeItsLinesAreRead) {
  const Tensor x = counted({64, 64}, f32), i = remainder(arange(64) * 37 + 5, 64);
  const std::vector<std::int64_t> named = i.to_host<std::int64_t>();
  const auto f = [&](const Tensor& from) {
    const Tensor table = from * 2.0;
    return std::pair(take(table, i, 0) + table, table);
  };
  const std::vector<double> table = numbers(x * 2.0), taken = lines(x * 2.0, 0, named), got = numbers(jit(f)(x).first);
  for (std::size_t at = 0; at < got.size(); ++at) EXPECT_EQ(got[at], taken[at] + table[at]) << at;
}

TEST(FoldLines, ATableOfOneLine) {
  const Tensor x = counted({1, 3}, f32), zeros_of_table = zeros({4}, i64);
  const auto f = [&](const Tensor& from) { return take(from * 3.0, zeros_of_table, 0) + take(from * 3.0, zeros({1}, i64), 0); };
  EXPECT_EQ(numbers(jit(f)(x)), (std::vector<double>{6, 12, 18, 6, 12, 18, 6, 12, 18, 6, 12, 18}));
}

TEST(FoldLines, PiecesOfAJoinAreTables) {
  const Tensor x = counted({4, 3}, f32), i = tensor<std::int64_t>({3, 1});
  const auto f = [&](const Tensor& from) {
    const Tensor a = from * 2.0, b = from + 1.0;
    return std::pair(concat({a, b}, 1), take(b, i, 0) * 10.0);
  };
  std::vector<double> expected = lines(x, 0, {3, 1});
  for (double& value : expected) value = (value + 1) * 10;
  EXPECT_EQ(numbers(jit(f)(x).second), expected);
}

TEST(FoldLines, SumsOverLines) {
  const Tensor x = counted({50, 33}), y = counted({300, 33}), i = remainder(arange(300) * 17, 50);
  const std::vector<double> taken = lines(x, 0, i.to_host<std::int64_t>()), other = numbers(y);
  for (const int axis : {0, 1}) {
    const auto f = [&](const Tensor& from, const Tensor& factors) { return sum(take(from, i, 0) * factors, axis); };
    const std::vector<double> got = numbers(jit(f)(x, y));
    std::vector<double> expected(axis == 0 ? 33 : 300);
    for (std::size_t at = 0; at < taken.size(); ++at) expected[axis == 0 ? at % 33 : at / 33] += taken[at] * other[at];
    for (std::size_t at = 0; at < got.size(); ++at) EXPECT_NEAR(got[at], expected[at], 1e-9 * expected[at]) << at;
  }
}

TEST(FoldLines, Gradients) {
  const Tensor i = tensor<std::int64_t>({2, 0, 2, -1, 1}), k = tensor<std::int64_t>({1, 1, -1, 0, 2});
  check_gradients([&](const std::vector<Tensor>& x) { return tanh(take(x[0], i, 0) * take(x[1], k, 0)); },
                  {0.1 * counted({4, 3}), 0.2 * counted({3, 3})});
  const Segments s = segments(tensor<std::int64_t>({2, 0, 2, 3, 1}), 4);
  check_gradients([&](const std::vector<Tensor>& x) { return segment_sum(tanh(segment_take(x[0], s)) * sin(x[1]), s); },
                  {0.1 * counted({4, 3}), 0.2 * counted({5, 3})});
}

TEST(FoldLines, AnIndexOutsideIsAnErrorOfItsLine) {
  for (const std::int64_t wrong : {std::int64_t{4}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    const Tensor x = counted({4, 300}, f32), i = tensor<std::int64_t>({0, wrong});
    Variable touched(zeros({2, 300}));
    auto step = jit([&](const Tensor& from, const Tensor& index) {
      const Tensor y = relu(take(from, index, 0));
      touched = y;
      return y;
    });
    EXPECT_HAS_MESSAGE(numbers(step(x, i)),
                       "take: got index " + std::to_string(wrong) + " for axis 0 of size 4, where it must lie in [-4, 3]");
    EXPECT_EQ(numbers(sum(touched)), std::vector<double>{0}) << "a failed step changes nothing";
    EXPECT_EQ(numbers(step(x, tensor<std::int64_t>({3, -4})))[0], 901);
  }
  EXPECT_HAS_MESSAGE(numbers(jit([](const Tensor& from, const Tensor& index) { return take(from, index, 0) + 1.0; })(
                         zeros({0, 3}), tensor<std::int64_t>({0}))),
                     "which is empty");
}

TEST(FoldLines, TheSameBitsAsTheKernelOfTheOpAndAtEveryRun) {
  const Tensor x = normal({100, 64}), y = normal({2000, 64}), i = randint(0, 100, {2000});
  eval(x, y, i);
  auto step = jit([&](const Tensor& from, const Tensor& other) { return tanh(take(from, i, 0) * other); });
  const std::vector<float> first = step(x, y).to_host<float>();
  EXPECT_EQ(step(x, y).to_host<float>(), first);
  const Tensor taken = take(x, i, 0);
  eval(taken);  // by itself: the op's own kernel
  EXPECT_EQ(jit([](const Tensor& from, const Tensor& other) { return tanh(from * other); })(taken, y).to_host<float>(), first);
}

TEST(FoldLines, ALineNamedByASumIsReadBehindIt) {
  const Tensor table = counted({7}), lines = counted({7, 3});
  for (const std::int64_t rows : {1, 2, 33, 300})
    for (const std::int64_t columns : {1, 16, 40}) {
      const Tensor x = cast(zeros({rows, columns}), i64);
      eval(x);
      for (const int axis : {0, 1}) {
        auto step = jit([&](const Tensor& in, const Tensor& v) { return -take(v, sum(in, axis) + 4, 0); });
        EXPECT_EQ(numbers(step(x, table)), std::vector<double>(static_cast<std::size_t>(axis == 0 ? columns : rows), -5));
        EXPECT_HAS_MESSAGE(numbers(step(x + 40, table)), "where it must lie in [-7, 6]");
      }
      auto one = jit([&](const Tensor& in, const Tensor& v) { return -take(v, sum(in) + 4, 0); });
      EXPECT_EQ(numbers(one(x, table)), std::vector<double>{-5});
      EXPECT_EQ(numbers(one(x, lines)), (std::vector<double>{-13, -14, -15}));
    }
}

}  // namespace
}  // namespace tegula
