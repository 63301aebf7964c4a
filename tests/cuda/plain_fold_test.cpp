// Steps that become channels, on the CPU: the folded convolution is the described one, and folding back is the inverse.

#include "tegula/cuda/handwritten/plain_fold.h"

#include <gtest/gtest.h>

#include <string_view>

#include "tegula/cuda/dnn/dnn_layout.h"
#include "tests/support/emulator.h"
#include "tests/support/library.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

/// y[n, o, i, j] as it is written, without anything around the image when it has been padded.
double output_at(const test::Tensor& x, const test::Tensor& w, const Dims& y, const Dims& stride, const Dims& low) {
  const Shape &in = x.layout().shape, &window = w.layout().shape;
  double sum = 0;
  for (std::int64_t c = 0; c < in[1]; ++c) {
    for (std::int64_t p = 0; p < window[2]; ++p) {
      for (std::int64_t q = 0; q < window[3]; ++q) {
        const std::int64_t h = y[2] * stride[0] + p - low[0], v = y[3] * stride[1] + q - low[1];
        if (h < 0 || h >= in[2] || v < 0 || v >= in[3]) continue;
        sum += x({y[0], c, h, v}) * w({y[1], c, p, q});
      }
    }
  }
  return sum;
}

Convolution image(std::int64_t channels, const Shape& size, const Shape& window, const Dims& stride, const Dims& low, const Dims& high) {
  Shape out{2, 5}, in{2, channels}, weight{5, channels};
  for (int i = 0; i < size.rank(); ++i) {
    in.push_back(size[i]);
    weight.push_back(window[i]);
    out.push_back((size[i] + low[i] + high[i] - window[i]) / stride[i] + 1);
  }
  return {.pass = ConvolutionPass::Forward,
          .input = {bf16, ordered(in, ChannelOrder::Last)},
          .weight = {bf16, Layout::dense(weight)},
          .output = {bf16, ordered(out, ChannelOrder::Last)},
          .stride = stride,
          .dilation = Dims::filled(size.rank(), 1),
          .pad_low = low,
          .pad_high = high};
}

const DnnAttempt* attempt_named(const std::vector<DnnVariant>& variants, std::string_view name) {
  for (const DnnVariant& variant : variants) {
    if (variant.name == name) return &variant.attempts.back();
  }
  return nullptr;
}

void expect_same_outputs(const Convolution& d, const DnnAttempt& attempt) {
  const DnnProblem p = dnn_problem(d, attempt);
  EXPECT_EQ(p.input.shape[1] % kFoldPiece, 0);
  test::Tensor x(f32, p.described_input), w(f32, p.described_weight), folded_x(f32, p.input), folded_w(f32, p.weight),
      back(f32, p.described_weight);
  x.randomize(), w.randomize();
  const int rank = d.stride.rank();
  const Dims stride = rank == 1 ? Dims{1, d.stride[0]} : d.stride, low = rank == 1 ? Dims{0, d.pad_low[0]} : d.pad_low;
  const PlainFold of_x{f32, p.described_input, p.input, attempt.fold, {p.shift[2], p.shift[3]}, stride[1]};
  const PlainFold of_w{f32, p.described_weight, p.weight, attempt.fold, {0, 0}, stride[1]};
  emulate(fold_kernel(of_x), std::vector<void*>{x.data(), folded_x.data()});
  emulate(fold_kernel(of_w), std::vector<void*>{w.data(), folded_w.data()});
  emulate(unfold_kernel(of_w), std::vector<void*>{folded_w.data(), back.data()});
  EXPECT_TRUE(folded_x.untouched_outside() && folded_w.untouched_outside() && back.untouched_outside());
  const std::int64_t outputs = p.output.shape[1] / d.output.layout.shape[1];
  w.for_each([&](const Dims& i) { EXPECT_EQ(back(i), static_cast<double>(outputs) * w(i)) << to_string(i); });
  const test::Tensor y(f32, p.output);
  y.for_each([&](const Dims& i) {
    const Dims plain{i[0], i[1] % d.output.layout.shape[1], i[2], i[3] * outputs + i[1] / d.output.layout.shape[1]};
    EXPECT_NEAR(output_at(folded_x, folded_w, i, p.stride, p.pre), output_at(x, w, plain, stride, low), 1e-5)
        << key_of(d, attempt) << to_string(i);
  });
}

TEST(PlainFold, TheFoldedConvolutionHasTheSameOutputs) {
  for (const Convolution& d : {image(3, {10, 12}, {7, 7}, {2, 2}, {3, 3}, {3, 3}), image(1, {9, 13}, {4, 5}, {3, 2}, {0, 2}, {1, 2}),
                               image(5, {5, 14}, {3, 3}, {1, 3}, {1, 1}, {1, 1}), image(2, {17}, {6}, {4}, {2}, {3})}) {
    const auto variants = dnn_variants(d);
    const DnnAttempt* const attempt = attempt_named(variants, "folded");
    ASSERT_TRUE(attempt) << key_of(d, {});
    expect_same_outputs(d, *attempt);
  }
}

TEST(PlainFold, OutputsSideBySideBecomeOne) {
  for (const Convolution& d : {image(3, {10, 12}, {7, 7}, {2, 2}, {3, 3}, {3, 3}), image(4, {4, 13}, {3, 3}, {1, 2}, {1, 0}, {1, 0})}) {
    const auto variants = dnn_variants(d);
    const DnnAttempt* const attempt = attempt_named(variants, "folded by pairs");
    ASSERT_TRUE(attempt) << key_of(d, {});
    EXPECT_EQ(dnn_problem(d, *attempt).weight.shape[0], 2 * d.weight.layout.shape[0]);
    expect_same_outputs(d, *attempt);
  }
  EXPECT_FALSE(attempt_named(dnn_variants(image(3, {10, 10}, {7, 7}, {2, 2}, {3, 3}, {3, 3})), "folded by pairs"));  // five in a row
}

TEST(PlainFold, OnlyWindowsThatTheStepsDoNotJumpOverFold) {
  EXPECT_FALSE(attempt_named(dnn_variants(image(3, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1})), "folded"));   // nothing to fold
  EXPECT_FALSE(attempt_named(dnn_variants(image(3, {8, 8}, {1, 1}, {2, 2}, {0, 0}, {0, 0})), "folded"));
  EXPECT_FALSE(attempt_named(dnn_variants(image(16, {8, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1})), "folded"));  // channels enough
  Convolution d = image(3, {9, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1});
  EXPECT_TRUE(attempt_named(dnn_variants(d), "folded"));
  d = d.in(f32);
  EXPECT_FALSE(attempt_named(dnn_variants(d), "folded"));
  d = d.in(bf16), d.pass = ConvolutionPass::BackwardData;
  EXPECT_FALSE(attempt_named(dnn_variants(d), "folded"));
}

}  // namespace
}  // namespace tegula::gpu
