// Making a node never runs a program: work that must happen without being asked for is done once its op has been made.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tegula/graph/frame.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

/// Settings of the process, put back at the end.
struct Settings {
  explicit Settings(bool eager, std::size_t bound = 100'000) { set_eager(eager), set_pending_bound(bound); }
  ~Settings() { set_eager(false), set_pending_bound(100'000); }
};

bool has_value(const Tensor& x) { return x.node()->has_value(); }

TEST(Making, NothingIsComputedBeforeTheOutermostFrameCloses) {
  const Settings settings(true);
  const Tensor x = ones({3});
  Tensor inner, outer;
  {
    const In frame("outer", Line::current());
    {
      const In within("inner", Line::current());
      inner = x + 1.0;
      EXPECT_FALSE(has_value(inner));
    }
    EXPECT_FALSE(has_value(inner));
    outer = inner * 2.0;
    EXPECT_FALSE(has_value(outer));
  }
  EXPECT_TRUE(has_value(inner) && has_value(outer));
  EXPECT_EQ(outer.to_host<double>(), (std::vector<double>{4, 4, 4}));
}

TEST(Making, OutsideOfFramesAnOpIsComputedOnceItStands) {
  const Settings settings(true);
  const Tensor y = ones({3}) + 1.0;
  EXPECT_TRUE(has_value(y));
}

TEST(Making, TheBoundIsKeptBetweenFrames) {
  const Settings settings(false, 5);
  Tensor y = ones({3});
  {
    const In frame("chain", Line::current());
    for (int k = 0; k < 20; ++k) {
      y = y + 1.0;
      EXPECT_FALSE(has_value(y));
    }
  }
  EXPECT_TRUE(has_value(y));
}

TEST(Making, GradientsStandBeforeAnyIsComputed) {
  const Settings settings(true);
  const Tensor x = full({3}, 2.0);
  bool computed_early = false;
  const auto f = [](const std::vector<Tensor>& in) { return square(in[0]); };
  const auto vjp = [&](const std::vector<Tensor>& in, const Tensor&, const Tensor& dy) {
    computed_early = has_value(dy);
    return std::vector{2.0 * in[0] * dy};
  };
  const Tensor loss = sum(custom_function("squared", f, vjp, {x}) * 3.0);
  const Tensor dx = grad(loss, x);
  EXPECT_FALSE(computed_early);
  EXPECT_TRUE(has_value(dx));
  EXPECT_EQ(dx.to_host<double>(), (std::vector<double>{12, 12, 12}));
}

TEST(Making, WhoLooksWithinAFrameSeesValues) {
  const Settings settings(true);
  const In frame("layer", Line::current());
  const Tensor first = ones({3}) + 1.0, y = first * 2.0;
  EXPECT_EQ(sum(y).item(), 12);
  EXPECT_TRUE(has_value(first) && has_value(y)) << "what was made before is computed first, in its order";
}

TEST(Making, WhatFailsIsToldWhenTheFrameCloses) {
  const Settings settings(true);
  const Tensor x = ones({3}), index = full({1}, 7, i64);
  bool reached = false;
  std::string message;
  try {
    const In frame("layer", Line::current());
    const Tensor y = take(x, index, 0);
    reached = true;
  } catch (const Error& error) { message = error.what(); }
  EXPECT_TRUE(reached);
  EXPECT_NE(message.find("7"), std::string::npos) << message;
  EXPECT_NE(message.find("making_test.cpp"), std::string::npos) << message;
}

TEST(Making, AnExceptionThatPassesIsNotHidden) {
  const Settings settings(true);
  const Tensor x = ones({3}), index = full({1}, 7, i64);
  try {
    const In frame("layer", Line::current());
    const Tensor y = take(x, index, 0);  // would fail, too
    throw std::runtime_error("the program's own");
  } catch (const std::runtime_error& error) { EXPECT_STREQ(error.what(), "the program's own"); }
  EXPECT_EQ(sum(x + 1.0).item(), 6) << "what was left of it is in nobody's way";
}

}  // namespace
}  // namespace tegula
