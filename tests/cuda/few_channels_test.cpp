// The kernels for few channels on the CPU, against the naive loops: their source is compiled and run by the emulator.

#include "tegula/cuda/handwritten/few_channels/few_channels.h"

#include <gtest/gtest.h>

#include "tests/support/emulator.h"
#include "tests/support/library.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;
using test::ConvolutionOptions;

class EmulatedCall final : public runtime::Call {
 public:
  explicit EmulatedCall(const FewChannels& few) : few_(few) {}
  std::size_t scratch_bytes() const override { return few_.scratch; }
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    if (!few_.sum) return emulate(few_.kernel, buffers);
    void* const products[] = {buffers[0], buffers[1], options.scratch};
    void* const sums[] = {options.scratch, buffers[2]};
    emulate(few_.kernel, products);
    emulate(*few_.sum, sums);
  }
  std::string describe() const override { return few_.name; }

 private:
  FewChannels few_;
};

struct Case {
  int n, c, in, k, kernel, stride, low, high, dilation;
};

enum class Variants { First, All, RowMajorWeight };

void check(const Case& one, ConvolutionPass pass, Variants which) {
  ConvolutionOptions o{.dtype = f32};
  o.n = one.n, o.c = one.c, o.k = one.k;
  for (int axis = 0; axis < 2; ++axis) {
    o.in.push_back(one.in + axis), o.kernel.push_back(one.kernel), o.stride.push_back(one.stride), o.dilation.push_back(one.dilation);
    o.low.push_back(one.low), o.high.push_back(one.high);
  }
  o.input = o.output = o.weight = test::Memory::ChannelsLast;
  o.arithmetic = runtime::Arithmetic::TF32;
  if (pass == ConvolutionPass::Forward) o.bias = true, o.relu = true;
  if (which == Variants::RowMajorWeight) o.weight = test::Memory::ChannelsFirst;
  const Convolution d = test::describe(o, pass);
  const auto variants = few_channels_kernels(d, Card());
  ASSERT_FALSE(variants.empty());
  std::vector<std::unique_ptr<runtime::Call>> calls;
  for (std::size_t i = 0; i < (which == Variants::All ? variants.size() : 1); ++i)
    calls.push_back(std::make_unique<EmulatedCall>(variants[i]));
  test::expect_convolution(runtime::cpu(), d, calls, 1);
}

TEST(FewChannels, EveryVariantMatchesTheNaiveLoops) {
  const Case cases[] = {{2, 1, 7, 12, 3, 1, 1, 1, 1}, {1, 8, 5, 4, 3, 2, 1, 0, 1}, {3, 4, 5, 8, 3, 1, 2, 2, 2}};
  for (const Case& one : cases) {
    for (const auto pass : test::kPasses) check(one, pass, Variants::First);
  }
  check({3, 4, 5, 8, 3, 1, 1, 1, 1}, ConvolutionPass::BackwardWeight, Variants::RowMajorWeight);
  check({140, 4, 3, 4, 2, 1, 0, 0, 1}, ConvolutionPass::BackwardData, Variants::First);  // two images in a block
  for (const auto pass : test::kPasses) check({2, 12, 6, 24, 6, 2, 2, 2, 1}, pass, Variants::All);
}

TEST(FewChannels, OtherConvolutionsAreLeftToTheLibraries) {
  ConvolutionOptions o{.dtype = f32};
  o.n = 1, o.c = 4, o.k = 8, o.in = {5, 5}, o.kernel = {3, 3}, o.stride = {1, 1}, o.dilation = {1, 1}, o.low = {1, 1}, o.high = {1, 1};
  o.input = o.output = test::Memory::ChannelsLast;
  EXPECT_TRUE(few_channels_kernels(test::describe(o, ConvolutionPass::Forward), Card()).empty()) << "f32 that may not be rounded";
  o.arithmetic = runtime::Arithmetic::TF32;
  EXPECT_TRUE(few_channels_kernels(test::describe(o, ConvolutionPass::Forward), Card()).empty()) << "a row-major weight";
}

}  // namespace
}  // namespace tegula::gpu
