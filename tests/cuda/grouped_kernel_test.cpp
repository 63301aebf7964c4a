// The plain kernel of grouped sums, emulated, against the CPU's call: the same order of additions, so the same bits.

#include <gtest/gtest.h>

#include <vector>

#include "tegula/cuda/handwritten/plain_grouped.h"
#include "tests/support/emulator.h"

namespace tegula::gpu {
namespace {

template <class T>
void check(const runtime::GroupedSum& d) {
  std::vector<std::int64_t> starts{0}, lines;
  std::vector<T> source, weights;
  for (std::int64_t row = 0; row < d.length; ++row)
    starts.push_back(row + 1 == d.length ? d.count : std::min(d.count, starts.back() + row % 4));
  for (std::int64_t k = 0; k < d.count; ++k)
    lines.push_back((7 * k + 3) % (d.rows + 1)), weights.push_back(static_cast<T>(k % 5 - 2));  // one is outside
  for (std::int64_t i = 0; i < d.outer * d.rows * d.width; ++i) source.push_back(static_cast<T>((i * 37) % 101) / static_cast<T>(7));
  const auto run = [&](const auto& how) {
    std::vector<T> sums(static_cast<std::size_t>(d.outer * d.length * d.width));
    std::vector<void*> buffers{starts.data(), lines.data(), source.data()};
    if (d.weighted) buffers.push_back(weights.data());
    buffers.push_back(sums.data());
    how(buffers);
    return sums;
  };
  const auto call = runtime::cpu().make(d);
  const std::vector<T> expected = run([&](const std::vector<void*>& buffers) { call->run(buffers, {}); });
  const std::vector<T> got = run([&](const std::vector<void*>& buffers) { emulate(grouped_sum_kernel(d), buffers); });
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(static_cast<double>(got[i]), static_cast<double>(expected[i]), 1e-4) << i;
}

TEST(GroupedKernel, AddsTheLinesOfEachRow) {
  check<float>({.dtype = f32, .outer = 1, .count = 90, .rows = 20, .length = 30, .width = 8});
  check<float>({.dtype = f32, .outer = 2, .count = 40, .rows = 9, .length = 5, .width = 3, .weighted = true});
  check<double>({.dtype = f64, .outer = 1, .count = 50, .rows = 20, .length = 40, .width = 33, .weighted = true});
  check<std::int64_t>({.dtype = i64, .outer = 1, .count = 12, .rows = 6, .length = 7, .width = 2});
  check<float>({.dtype = f32, .outer = 1, .count = 0, .rows = 3, .length = 4, .width = 2});
}

}  // namespace
}  // namespace tegula::gpu
