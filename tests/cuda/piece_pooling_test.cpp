// Max pooling in pieces on the CPU, against the naive loops.

#include "tegula/cuda/piece_pooling.h"

#include <gtest/gtest.h>

#include "tegula/cuda/dnn_layout.h"
#include "tests/cuda/emulated_plain_kernel.h"
#include "tests/support/library.h"

namespace tegula::gpu {
namespace {

using runtime::Pooling;
using runtime::PoolingKind;

/// The CPU with the kernels in place of its pooling.
class EmulatedPooling final : public runtime::Call {
 public:
  explicit EmulatedPooling(const PiecePooling& pieces) : scratch_(pieces.scratch), kernel_(pieces.kernel, 2) {
    if (pieces.gather) gather_ = std::make_unique<EmulatedPlainKernel>(*pieces.gather, 3);
  }
  std::size_t scratch_bytes() const override { return scratch_; }
  void run(std::span<void* const> buffers, void* scratch, int) const override {
    kernel_.launch({buffers[0], gather_ ? scratch : buffers[1]});
    if (gather_) gather_->launch({scratch, buffers[1], buffers[2]});
  }
  std::string describe() const override { return "emulated"; }

 private:
  std::size_t scratch_;
  EmulatedPlainKernel kernel_;
  std::unique_ptr<EmulatedPlainKernel> gather_;
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
         {pooling(7, 3, 2, 1, 1, 1, backward), pooling(6, 2, 2, 0, 0, 1, backward), pooling(8, 3, 1, 2, 1, 2, backward)}) {
      const auto pieces = piece_pooling(d);
      ASSERT_TRUE(pieces);
      const EmulatedPooling emulated(*pieces);
      const EmulatedPlainKernel plain(pooling_kernel(d), backward ? 3 : 2);
      test::Tensor x(f32, d.input), dy(f32, d.output), got(f32, backward ? d.input : d.output), want(f32, backward ? d.input : d.output);
      x.for_each([&](const Dims& i) { x.set(i, test::pick(0, 30) == 0 ? std::numeric_limits<double>::quiet_NaN() : test::pick(-3, 3)); });
      dy.randomize();
      const auto scratch = allocate_host(emulated.scratch_bytes() + 16);
      std::vector<void*> buffers{x.data()};
      if (backward) buffers.push_back(dy.data());
      buffers.push_back(got.data());
      emulated.run(buffers, scratch->data(), 1);
      buffers.back() = want.data();
      plain.launch(buffers);
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
