#include <gtest/gtest.h>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/library.h"
#include "tests/support/library.h"

namespace tegula::host {
namespace {

using runtime::ScatterSum;
using test::expect_scatter_sum;
using test::Named;
using test::pick;
using test::random_rows;

void check(const ScatterSum& d, Named named, int threads) {
  expect_scatter_sum(runtime::cpu(), *runtime::cpu().make(d), d, random_rows(named, d.count, d.length), threads);
}

class ScatterSumTest : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Numbers, ScatterSumTest, testing::Values(f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(ScatterSumTest, RandomIndicesMatchTheNaiveLoops) {
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    const ScatterSum d{.dtype = GetParam(), .outer = pick(1, 3), .count = pick(0, 90), .length = pick(1, 40), .width = pick(1, 20)};
    check(d, static_cast<Named>(round % 3), 1 + round % 4);
  }
}

TEST_P(ScatterSumTest, LongRowsAndManyEqualIndices) {
  check({.dtype = GetParam(), .outer = 1, .count = 90, .length = 7, .width = 1100}, Named::Anything, 2);
  check({.dtype = GetParam(), .outer = 1, .count = 4000, .length = 5, .width = 3}, Named::OneRow, 2);
  check({.dtype = GetParam(), .outer = 2, .count = 3000, .length = 3000, .width = 1}, Named::EachOnce, 3);
}

TEST_P(ScatterSumTest, NothingNamedGivesZeros) {
  check({.dtype = GetParam(), .outer = 2, .count = 0, .length = 9, .width = 5}, Named::Anything, 2);
}

TEST(ScatterSum, BooleansAreRefused) { EXPECT_THROW(make_scatter_sum({.dtype = boolean}), Error); }

}  // namespace
}  // namespace tegula::host
