// Long sums of f32 by an H200's kernels, run by the emulator: a thread adds its elements of a tile in f32 and tiles in f64, so that the error of many
// equal numbers, which all err to the same side, does not grow with their number.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/tegula.h"
#include "tests/support/emulated_queue.h"

namespace tegula {
namespace {

TEST(LongSums, KeepTheirDigits) {
  runtime::Device& before = default_device();
  set_default_device(test::EmulatedQueue::create());
  const float value = 0x1.f08fcp0f;  // added 64 times, one by one, it is 1e-6 off
  const double v = value;
  const std::int64_t n = std::int64_t{1} << 20;
  const Tensor x = full({n}, value) + zeros({1}), tall = full({n / 8, 8}, value) + zeros({1}), rows = full({2, n / 2}, value) + zeros({1});
  EXPECT_NEAR(sum(x).item<double>() / (static_cast<double>(n) * v), 1, 3e-7);
  EXPECT_NEAR(mean(x * x).item<double>() / (v * v), 1, 3e-7);
  EXPECT_NEAR(sum(tall, 0).to_host<double>()[5] / (static_cast<double>(n / 8) * v), 1, 3e-7);
  EXPECT_NEAR(sum(rows, 1).to_host<double>()[1] / (static_cast<double>(n / 2) * v), 1, 3e-7);
  EXPECT_NEAR(cumsum(slice(x, 0, {0, 100'000}), 0).to_host<double>()[99'999] / (1e5 * v), 1, 3e-7);
  set_default_device(before);
}

}  // namespace
}  // namespace tegula
