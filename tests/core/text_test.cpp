// Numbers as people read them.

#include "tegula/core/text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tegula {
namespace {

TEST(NumberText, IsTheShortestThatReadsBack) {
  EXPECT_EQ(number_text(1.5), "1.5");
  EXPECT_EQ(number_text(-2.0), "-2");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(0.1f), "0.1");
  EXPECT_EQ(number_text(1e-8), "1e-08");
  EXPECT_EQ(number_text(-0.0), "-0");
  EXPECT_EQ(number_text(HUGE_VAL), "inf");
  EXPECT_EQ(number_text(-HUGE_VAL), "-inf");
  EXPECT_EQ(number_text(std::nan("")), "nan");
  EXPECT_EQ(number_text(-std::nan("")), "nan");
  EXPECT_EQ(number_text(-std::nanf("")), "nan");
  std::uint64_t bits = 1;
  for (int i = 0; i < 1000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    const double value = std::ldexp(static_cast<double>(bits >> 11), static_cast<int>(bits % 600) - 300);
    const std::string text = number_text(value);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    EXPECT_EQ(back, value) << text;
  }
  EXPECT_EQ(number_text(std::numeric_limits<double>::lowest()), "-1.7976931348623157e+308");
  EXPECT_EQ(number_text(std::numeric_limits<float>::denorm_min()), "1e-45");
}

}  // namespace
}  // namespace tegula
