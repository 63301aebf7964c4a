// Words that move elements, reductions and scans by functions, loops that end by a condition: beside plain loops, recorded and at once.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/ops/tile_jit.h"
#include "tests/support/message.h"
#include "tests/support/tile_shape_kernels.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using tile::out;

/// The kernel as it is, and run at once.
template <class K, class F>
void in_both(const K& kernel, F&& f) {
  f(kernel);
  f(kernel.check());
}

TEST(TileShapes, AxesAreMovedTurnedAndCut) {
  const Tensor x = arange(30.0f);
  const Tensor v = reshape(x, {2, 3, 5});
  in_both(moving::axes, [&](const auto& k) {
    const auto r = k({1}, x, out({5, 2, 3}), out({2, 5, 3}), out({2, 3, 5}), out({2, 2, 5}));
    EXPECT_EQ(r[0].to_host(), permute(v, {2, 0, 1}).to_host());
    EXPECT_EQ(r[1].to_host(), permute(v, {0, 2, 1}).to_host());
    EXPECT_EQ(r[2].to_host(), flip(v, {2}).to_host());
    EXPECT_EQ(r[3].to_host(), slice(v, 1, {1, 3}).to_host());
  });
}

TEST(TileShapes, TilesAreJoinedAndSplit) {
  const Tensor x = cast(arange(4), i32), y = cast(arange(4) + 10, i32);
  const std::vector<std::int32_t> woven{0, 10, 1, 11, 2, 12, 3, 13};
  in_both(moving::halves, [&](const auto& k) {
    const auto r = k({1}, x, y, out({4, 2}), out({8}), out({8}), out({4}), out({4}));
    EXPECT_EQ(r[0].template to_host<std::int32_t>(), woven);
    EXPECT_EQ(r[1].template to_host<std::int32_t>(), woven);
    EXPECT_EQ(r[2].template to_host<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 2, 3, 10, 11, 12, 13}));
    EXPECT_EQ(r[3].template to_host<std::int32_t>(), x.to_host<std::int32_t>());
    EXPECT_EQ(r[4].template to_host<std::int32_t>(), y.to_host<std::int32_t>());
  });
}

TEST(TileShapes, AMovedElementKeepsItsBits) {
  const Tensor x = tensor({NAN, -0.0f, INFINITY, -INFINITY, 1e-42f, 3.0f});
  in_both(moving::special, [&](const auto& k) {
    const auto y = k({1}, x, out({6}))[0].to_host();
    EXPECT_TRUE(std::isnan(y[5]));
    EXPECT_TRUE(y[4] == 0 && std::signbit(y[4]));
    EXPECT_EQ((std::vector<float>(y.begin(), y.begin() + 4)), (std::vector<float>{3.0f, 1e-42f, -INFINITY, INFINITY}));
  });
}

TEST(TileShapes, ReductionsAndScansGoByAFunction) {
  std::vector<float> x(21);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 5 % 7) - 2.5f;
  in_both(moving::functions, [&](const auto& k) {
    const auto r = k({1}, tensor(x), out({3}), out({3}), out({3, 7}), out({3, 7}), out({3}), out({3}));
    for (std::size_t i = 0; i < 3; ++i) {
      const auto line = x.begin() + static_cast<std::ptrdiff_t>(7 * i);
      EXPECT_FLOAT_EQ(r[0].to_host()[i], std::accumulate(line, line + 7, 1.0f, std::multiplies<>()));
      EXPECT_EQ(r[1].to_host()[i], line[6]);
      float forward = 1, backward = 1;
      for (std::size_t j = 0; j < 7; ++j) {
        EXPECT_FLOAT_EQ(r[2].to_host()[7 * i + j], forward *= line[static_cast<std::ptrdiff_t>(j)]);
        EXPECT_FLOAT_EQ(r[3].to_host()[7 * i + 6 - j], backward *= line[static_cast<std::ptrdiff_t>(6 - j)]);
      }
      const auto top = std::max_element(line, line + 7);
      EXPECT_EQ(r[4].to_host()[i], *top);
      EXPECT_EQ(r[5].template to_host<std::int64_t>()[i], top - line);
    }
  });
}

TEST(TileShapes, HistogramsCountAndTopkSorts) {
  const Tensor x = cast(remainder(arange(50) * 3, 11.0), i32);
  const auto values = x.to_host<std::int32_t>();
  std::vector<std::int32_t> bins(8), some(8), sorted = values;
  for (const std::int32_t v : values) {
    if (v < 8) ++bins[static_cast<std::size_t>(v)];
    if (v < 8 && v % 2 == 0) ++some[static_cast<std::size_t>(v)];
  }
  std::sort(sorted.rbegin(), sorted.rend());
  in_both(moving::counts, [&](const auto& k) {
    const auto r = k({1}, x, out({8}), out({8}), out({4}));
    EXPECT_EQ(r[0].template to_host<std::int32_t>(), bins);
    EXPECT_EQ(r[1].template to_host<std::int32_t>(), some);
    EXPECT_EQ(r[2].template to_host<std::int32_t>(), std::vector<std::int32_t>(sorted.begin(), sorted.begin() + 4));
  });
}

TEST(TileShapes, DescriptorsReachNoElementOutside) {
  const Tensor x = reshape(arange(7.0f * 10), {7, 10});
  in_both(moving::blocks, [&](const auto& k) {
    const auto r = k({2}, x, out({10, 7}), out({10}, 0), 7, 10, 4);
    EXPECT_EQ(r[0].to_host(), transpose(x).to_host());
    EXPECT_EQ(r[1].to_host(), sum(x, {0}).to_host());
  });
}

TEST(TileShapes, BatchedProductsAreThoseOfEachMatrix) {
  const Tensor x = normal({3, 2, 4}), y = normal({3, 4, 5});
  in_both(moving::products, [&](const auto& k) { test::expect_close(k({1}, x, y, out({3, 2, 5}))[0], matmul(x, y), 1e-5); });
}

TEST(TileShapes, AWhileWithoutABoundEndsByItsCondition) {
  in_both(moving::endless, [&](const auto& k) {
    for (const auto& [n, steps, top] : {std::tuple(1, 0, 1), {10, 6, 16}, {27, 111, 9232}}) {
      const auto r = k({1}, out({1}), out({1}), n);
      EXPECT_EQ(r[0].template item<std::int64_t>(), steps);
      EXPECT_EQ(r[1].template item<std::int64_t>(), top);
    }
  });
}

TEST(TileShapes, AtomicWordsChangeTheirElementsAndGiveWhatWasThere) {
  const Tensor x = cast(tensor({3.0f, 12.0f, 5.0f, 9.0f}), i32);
  using Numbers = std::vector<std::int32_t>;
  const std::int32_t was = 6;
  Numbers want, before;
  const auto each = [&](auto word, int last) {
    int i = 0;
    for (const std::int32_t v : {3, 12, 5, 9}) {
      want.push_back(i <= last ? word(v) : was);
      before.push_back(i++ <= last ? was : 0);
    }
  };
  each([&](std::int32_t v) { return was + v; }, 2);
  each([&](std::int32_t v) { return std::max(was, v); }, 2);
  each([&](std::int32_t v) { return std::min(was, v); }, 2);
  each([&](std::int32_t v) { return was & v; }, 2);
  each([&](std::int32_t v) { return was | v; }, 2);
  each([&](std::int32_t v) { return was ^ v; }, 2);
  each([&](std::int32_t v) { return v; }, 2);
  each([&](std::int32_t v) { return v; }, 3);  // it was what it was compared with
  in_both(moving::every_atomic, [&](const auto& k) {
    const auto r = k({1}, x, out({32}, was), out({32}));
    EXPECT_EQ(r[0].template to_host<std::int32_t>(), want);
    EXPECT_EQ(r[1].template to_host<std::int32_t>(), before);
  });
}

TEST(TileShapes, AssemblyRunsItsFallbackWhereThereIsNoPtx) {
  in_both(moving::by_assembly, [&](const auto& k) {
    EXPECT_EQ(k({1}, arange(8.0f), out({8}))[0].to_host(), (std::vector<float>{0, 2, 6, 12, 20, 30, 42, 56}));
  });
}

TEST(TileShapes, AssemblyTakesSeveralElementsAndGivesSeveralResults) {
  const Shape all{2, 32};
  const Tensor x = cast(arange(64) * 3, u8), h = cast(arange(64) - 32, f16);
  in_both(moving::packed, [&](const auto& k) {
    const auto r = k({1}, x, h, out(all), out(all), out(all), out(all), out(all), out(all), out(all));
    for (int i = 0; i < 64; ++i) {
      const auto at = [&](std::size_t result) { return cast(r[result], f64).template to_host<double>()[static_cast<std::size_t>(i)]; };
      const int v = i * 3, a = i - 32;
      const int want[] = {255 - v, v, 2 * a, 2 * a, -1 - v, v + i, v - i};
      for (std::size_t result = 0; result < 7; ++result) EXPECT_EQ(at(result), want[result]) << result << " at " << i;
    }
  });
}

TEST(TileShapes, AWhileEndsByItsConditionOrSaysThatItDoesNot) {
  in_both(moving::collatz, [&](const auto& k) {
    for (const auto& [n, steps] : {std::pair(1, 0), {10, 6}, {27, 111}})
      EXPECT_EQ(k({1}, out({1}), n, 200)[0].template item<std::int64_t>(), steps);
    EXPECT_HAS_MESSAGE(eval(k({1}, out({1}), 27, 50)[0]), "while_ ends after 50 times at most");
  });
}

}  // namespace
}  // namespace tegula
