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

Pooling pooling(int size, int window, int stride, int low, int high, int dilation, bool backward) {
  const std::int64_t out = (size + low + high - dilation * (window - 1) - 1) / stride + 1;
  return {.kind = PoolingKind::Max,
          .backward = backward,
          .input = {f32, ordered({2, 8, size, size}, ChannelOrder::Last)},
          .output = {f32, ordered({2, 8, out, out}, ChannelOrder::Last)},
          .window = {window, window},
          .stride = {stride, stride},
          .dilation = {dilation, dilation},
          .pad_low = {low, low},
          .pad_high = {high, high}};
}

TEST(PiecePooling, MatchesThePlainKernelsAlsoWithTiesAndNan) {
  for (int way = 0; way < 4; ++way) {  // backward, the maxima, the taps, both
    const bool backward = way == 0;
    for (Pooling d : {pooling(7, 3, 2, 1, 1, 1, backward), pooling(6, 2, 2, 0, 0, 1, backward), pooling(8, 3, 1, 2, 1, 2, backward),
                      pooling(9, 3, 2, 3, 1, 2, backward), pooling(10, 3, 3, 1, 0, 1, backward), pooling(11, 2, 5, 0, 0, 1, backward)}) {
      if ((way == 1 || way == 2) && d.window[0] != 2) continue;  // each kernel is compiled, and backward and both say most
      d.wants_values = way != 2, d.wants_taps = way > 1;
      const auto pieces = piece_pooling(d);
      ASSERT_TRUE(pieces);
      test::Tensor x(f32, d.input.layout), dy(f32, d.output.layout), taps(u8, d.output.layout);
      x.for_each([&](const Dims& i) { x.set(i, test::pick(0, 30) == 0 ? std::numeric_limits<double>::quiet_NaN() : test::pick(-3, 3)); });
      dy.randomize();
      Pooling forward = d;
      forward.backward = false, forward.wants_taps = true;
      test::Tensor y(f32, d.output.layout);
      emulate(pooling_kernel(forward), std::vector<void*>{x.data(), y.data(), taps.data()});
      const auto run = [&](const PlainKernel& kernel, test::Tensor& result, test::Tensor& found) {
        if (backward) emulate(kernel, std::vector<void*>{taps.data(), dy.data(), result.data()});
        else emulate(kernel, std::vector<void*>{x.data(), d.wants_values ? result.data() : nullptr, d.wants_taps ? found.data() : nullptr});
        EXPECT_TRUE(result.untouched_outside());
        EXPECT_TRUE(found.untouched_outside());
      };
      const Layout& layout = backward ? d.input.layout : d.output.layout;
      test::Tensor got(f32, layout), want(f32, layout), got_taps(u8, d.output.layout), want_taps(u8, d.output.layout);
      run(*pieces, got, got_taps);
      run(pooling_kernel(d), want, want_taps);
      got.for_each([&](const Dims& i) {
        if (std::isnan(want(i))) EXPECT_TRUE(std::isnan(got(i))) << to_string(i);
        else EXPECT_EQ(got(i), want(i)) << to_string(i);
      });
      got_taps.for_each([&](const Dims& i) {
        EXPECT_EQ(got_taps(i), want_taps(i)) << to_string(i);
        if (d.wants_taps) { EXPECT_EQ(got_taps(i), taps(i)) << to_string(i); }
      });
    }
  }
}

}  // namespace
}  // namespace tegula::gpu
