// Max pooling in pieces on the CPU, against the naive loops.

#include "tegula/cuda/handwritten/piece_pooling.h"

#include <gtest/gtest.h>

#include "tegula/cuda/dnn/dnn_layout.h"
#include "tests/support/emulator.h"
#include "tests/support/library.h"

namespace tegula::gpu {
namespace {

using runtime::Pooling;
using runtime::PoolingKind;

/// The CPU with the kernels in place of its pooling.
class EmulatedPooling final : public runtime::Call {
 public:
  explicit EmulatedPooling(const PiecePooling& pieces) : pieces_(pieces) {}
  std::size_t scratch_bytes() const override { return pieces_.scratch; }
  void run(std::span<void* const> buffers, void* scratch, int) const override {
    void* const windows[] = {buffers[0], pieces_.gather ? scratch : buffers[1]};
    emulate(pieces_.kernel, windows);
    if (!pieces_.gather) return;
    void* const gathers[] = {scratch, buffers[1], buffers[2]};
    emulate(*pieces_.gather, gathers);
  }
  std::string describe() const override { return "emulated"; }

 private:
  PiecePooling pieces_;
};

Pooling pooling(int size, int window, int stride, int low, int high, int dilation, bool backward) {
  const std::int64_t out = (size + low + high - dilation * (window - 1) - 1) / stride + 1;
  return {.kind = PoolingKind::Max,
          .backward = backward,
          .dtype = f32,
          .input = ordered({2, 8, size, size}, ChannelOrder::Last),
          .output = ordered({2, 8, out, out}, ChannelOrder::Last),
          .window = {window, window},
          .stride = {stride, stride},
          .dilation = {dilation, dilation},
          .pad_low = {low, low},
          .pad_high = {high, high}};
}

TEST(PiecePooling, MatchesThePlainKernelsAlsoWithTiesAndNan) {
  for (const bool backward : {false, true}) {
    for (const Pooling& d :
         {pooling(7, 3, 2, 1, 1, 1, backward), pooling(6, 2, 2, 0, 0, 1, backward), pooling(8, 3, 1, 2, 1, 2, backward),
          pooling(9, 3, 2, 3, 1, 2, backward), pooling(10, 3, 3, 1, 0, 1, backward), pooling(11, 2, 5, 0, 0, 1, backward)}) {
      const auto pieces = piece_pooling(d);
      ASSERT_TRUE(pieces);
      const EmulatedPooling emulated(*pieces);
      test::Tensor x(f32, d.input), dy(f32, d.output), got(f32, backward ? d.input : d.output), want(f32, backward ? d.input : d.output);
      x.for_each([&](const Dims& i) { x.set(i, test::pick(0, 30) == 0 ? std::numeric_limits<double>::quiet_NaN() : test::pick(-3, 3)); });
      dy.randomize();
      const auto scratch = allocate_host(emulated.scratch_bytes() + 16);
      std::vector<void*> buffers{x.data()};
      if (backward) buffers.push_back(dy.data());
      buffers.push_back(got.data());
      emulated.run(buffers, scratch->data(), 1);
      buffers.back() = want.data();
      emulate(pooling_kernel(d), buffers);
      EXPECT_TRUE(got.untouched_outside());
      got.for_each([&](const Dims& i) {
        if (std::isnan(want(i))) EXPECT_TRUE(std::isnan(got(i))) << to_string(i);
        else EXPECT_EQ(got(i), want(i)) << to_string(i);
      });
    }
  }
}

}  // namespace
}  // namespace tegula::gpu
