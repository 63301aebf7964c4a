// Copies from the host, large ones by a queue of their own. On a GPU, or on the driver of the tests, which does everything as late as it may.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

class CudaCopies : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    gpu = &cuda();
    gpu->trim_memory();
  }
  /// The caller may overwrite `values` once copy_in has returned.
  void put(const Ref<Buffer>& to, std::size_t count, int first) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), first);
    gpu->copy_in(to->data(), values.data(), count * sizeof(int));
    std::ranges::fill(values, -1);
  }
  std::vector<int> get(const Ref<Buffer>& from) const {
    std::vector<int> values(from->bytes() / sizeof(int));
    gpu->copy_out(values.data(), from->data(), from->bytes());
    return values;
  }
  Device* gpu = nullptr;
};

TEST_F(CudaCopies, LargeAndSmallOnesComeInTheirOrder) {
  constexpr std::size_t kSmall = 1000;
  for (const std::size_t count : {std::size_t{2000}, std::size_t{262'144}, std::size_t{1'300'001}}) {
    std::vector<Ref<Buffer>> buffers;
    for (int b = 0; b < 3; ++b) buffers.push_back(gpu->allocate(count * sizeof(int)));
    for (int turn = 0; turn < 9; ++turn) {
      const Ref<Buffer>& buffer = buffers[static_cast<std::size_t>(turn % 3)];
      put(buffer, count, 1'000'000 * turn);
      put(buffer, kSmall, turn);  // over the beginning of the large one
      if (turn % 3 != 2) continue;
      for (int b = 0; b < 3; ++b) {
        std::vector<int> expected(count);
        std::iota(expected.begin(), expected.end(), 1'000'000 * (turn - 2 + b));
        std::iota(expected.begin(), expected.begin() + kSmall, turn - 2 + b);
        ASSERT_EQ(get(buffers[static_cast<std::size_t>(b)]), expected) << count << " numbers, turn " << turn;
      }
    }
  }
}

// More than there are places to land in, none of which is looked at before the last has been queued.
TEST_F(CudaCopies, ManyBehindEachOtherStayApart) {
  constexpr std::size_t kCount = std::size_t{1} << 18;
  std::vector<Ref<Buffer>> buffers;
  for (int b = 0; b < 32; ++b) buffers.push_back(gpu->allocate(kCount * sizeof(int)));
  for (int b = 0; b < 32; ++b) put(buffers[static_cast<std::size_t>(b)], kCount, 1000 * b);
  for (int b = 0; b < 32; ++b) {
    std::vector<int> expected(kCount);
    std::iota(expected.begin(), expected.end(), 1000 * b);
    ASSERT_EQ(get(buffers[static_cast<std::size_t>(b)]), expected) << b;
  }
}

TEST_F(CudaCopies, WhatIsLargerThanAPieceComesWhole) {
  const std::size_t count = (std::size_t{20} << 20) / sizeof(int) + 3;
  const Ref<Buffer> buffer = gpu->allocate(count * sizeof(int));
  put(buffer, count, 5);
  put(buffer, count, 6);
  const std::vector<int> got = get(buffer);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], 6 + static_cast<int>(i));
}

}  // namespace
}  // namespace tegula
