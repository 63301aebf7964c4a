// The gradients of a 1x1 convolution on channels-last activations are plain products of (pixels, channels) matrices, without any
// reordering of the weight.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tegula/cpu/calls/convolution.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/parallel.h"
#include "tegula/runtime/call_steps.h"

namespace tegula::host {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;
using runtime::StepOperand;

Layout transposed(const Layout& matrix) { return {{matrix.shape[1], matrix.shape[0]}, {matrix.strides[1], matrix.strides[0]}}; }

/// (output gradient) -> bias gradient: sums over the pixels, in the order of the threads.
class BiasGradient final : public runtime::Call {
 public:
  BiasGradient(const Geometry& g, std::int64_t row) : g_(g), row_(row), most_threads_(library_threads()) {}

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(most_threads_ * sums()) * 4; }
  std::string describe() const override { return "sums over " + std::to_string(g_.n * g_.in_pixels()) + " pixels"; }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const auto* dy = static_cast<const float*>(buffers[0]);
    auto* bias = static_cast<float*>(buffers[1]);
    auto* partial = static_cast<float*>(options.scratch);
    int taken = 1;
    parallel(std::clamp(options.threads, 1, most_threads_), [&](int thread, int count) {
      if (thread == 0) taken = count;
      float* sum = partial + thread * sums();
      std::fill_n(sum, g_.k, 0.0f);
      const Range mine = share(g_.n * g_.in_pixels(), thread, count);
      for (std::int64_t p = mine.begin; p < mine.end; ++p) {
        for (std::int64_t k = 0; k < g_.k; ++k) sum[k] += dy[p * row_ + k];
      }
    });
    for (std::int64_t k = 0; k < g_.k; ++k) {
      bias[k] = 0;
      for (int thread = 0; thread < taken; ++thread) bias[k] += partial[thread * sums() + k];
    }
  }

 private:
  std::int64_t sums() const { return (g_.k + 15) / 16 * 16; }

  Geometry g_;
  std::int64_t row_;  // from one pixel to the next
  int most_threads_;
};

}  // namespace

bool pointwise_suits(const Convolution& d) {
  const Geometry g(d);
  return d.pass != ConvolutionPass::Forward && g.taps() == 1 && g.stride == Axes3{1, 1, 1} && g.low == Axes3{} && g.high == Axes3{} &&
         g.groups == 1 && order_of(g.n, g.c, g.in, g.input) == Order::ChannelsLast &&
         order_of(g.n, g.k, g.out, g.output) == Order::ChannelsLast;
}

std::unique_ptr<runtime::Call> make_pointwise_convolution(const Convolution& d) {
  const Geometry g(d);
  const std::int64_t pixels = g.n * g.in_pixels(), row = pixel_distance(g.n, g.k, g.out, g.output);
  const Layout x{{pixels, g.c}, {pixel_distance(g.n, g.c, g.in, g.input), 1}}, y{{pixels, g.k}, {row, 1}};
  const Layout w = Layout::dense({g.k, g.c});
  // The gradient of a weight is transposed, so that the buffers come in the order of the convolution's.
  const runtime::Matmul product = d.pass == ConvolutionPass::BackwardData ? runtime::Matmul::of(d.dtype(), y, w, x)
                                                                          : runtime::Matmul::of(d.dtype(), transposed(x), y, transposed(w));
  runtime::CallSteps steps;
  steps.steps.push_back({"", make_matmul(product), {StepOperand::reads(0), StepOperand::reads(1), StepOperand::writes(2)}});
  if (d.bias_gradient)
    steps.steps.push_back({"bias gradient", std::make_unique<BiasGradient>(g, row), {StepOperand::reads(1), StepOperand::writes(3)}});
  return runtime::call_of(std::move(steps), d.bias_gradient ? 4 : 3);
}

}  // namespace tegula::host
