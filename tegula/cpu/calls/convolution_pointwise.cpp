// The gradients of a 1x1 convolution on channels-last activations are plain products of (pixels, channels) matrices, without any
// reordering of the weight.

#include <algorithm>
#include <string>
#include <vector>

#include "tegula/cpu/calls/convolution.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

class PointwiseConvolution : public runtime::Call {
 public:
  explicit PointwiseConvolution(const Convolution& d) : description_(d), g_(d), most_threads_(library_threads()) {
    const std::int64_t pixels = g_.n * g_.in_pixels();
    gradient_row_ = pixel_distance(g_.n, g_.k, g_.out, g_.output);
    const Layout x{{pixels, g_.c}, {pixel_distance(g_.n, g_.c, g_.in, g_.input), 1}}, y{{pixels, g_.k}, {gradient_row_, 1}};
    const Layout w = Layout::dense({g_.k, g_.c});
    if (d.pass == ConvolutionPass::BackwardData) {
      product_ = make_matmul({.a = {d.dtype(), y}, .b = {d.dtype(), w}, .c = {d.dtype(), x}});
    } else {  // transposed, so that the buffers come in the order of the convolution's
      product_ = make_matmul({.a = {d.dtype(), transposed(x)}, .b = {d.dtype(), y}, .c = {d.dtype(), transposed(w)}});
    }
  }

  std::size_t scratch_bytes() const override {
    return product_->scratch_bytes() + (description_.bias ? static_cast<std::size_t>(most_threads_ * sums()) * 4 : 0);
  }
  std::string describe() const override { return "product, " + to_string(description_); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    product_->run(buffers.first(3), options);
    if (!description_.bias) return;
    // The bias gradient: sums over the pixels, in the order of the threads.
    const auto* dy = static_cast<const float*>(buffers[1]);
    auto* bias = static_cast<float*>(buffers[3]);
    auto* partial = reinterpret_cast<float*>(static_cast<char*>(options.scratch) + product_->scratch_bytes());
    int taken = 1;
    parallel(std::clamp(options.threads, 1, most_threads_), [&](int thread, int count) {
      if (thread == 0) taken = count;
      float* sum = partial + thread * sums();
      std::fill_n(sum, g_.k, 0.0f);
      const Range mine = share(g_.n * g_.in_pixels(), thread, count);
      for (std::int64_t p = mine.begin; p < mine.end; ++p) {
        for (std::int64_t k = 0; k < g_.k; ++k) sum[k] += dy[p * gradient_row_ + k];
      }
    });
    for (std::int64_t k = 0; k < g_.k; ++k) {
      bias[k] = 0;
      for (int thread = 0; thread < taken; ++thread) bias[k] += partial[thread * sums() + k];
    }
  }

 private:
  static Layout transposed(const Layout& matrix) { return {{matrix.shape[1], matrix.shape[0]}, {matrix.strides[1], matrix.strides[0]}}; }
  std::int64_t sums() const { return (g_.k + 15) / 16 * 16; }

  Convolution description_;
  Geometry g_;
  int most_threads_;
  std::int64_t gradient_row_ = 0;  // from one pixel to the next
  std::unique_ptr<runtime::Call> product_;
};

}  // namespace

bool pointwise_suits(const Convolution& d) {
  const Geometry g(d);
  return d.pass != ConvolutionPass::Forward && g.taps() == 1 && g.stride == Axes3{1, 1, 1} && g.low == Axes3{} && g.high == Axes3{} &&
         g.groups == 1 && order_of(g.n, g.c, g.in, g.input) == Order::ChannelsLast &&
         order_of(g.n, g.k, g.out, g.output) == Order::ChannelsLast;
}

std::unique_ptr<runtime::Call> make_pointwise_convolution(const Convolution& d) { return std::make_unique<PointwiseConvolution>(d); }

}  // namespace tegula::host
