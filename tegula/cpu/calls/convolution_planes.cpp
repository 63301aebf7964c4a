// Depthwise convolution of row-major activations: a plane (one channel of one image) at a time is copied between zeros, where every tap of a line of
// results is a line, too. Forward the padded plane is the input, apart by the remainders of places modulo the stride; backward it is the output
// gradient with zeros between its elements, so that both are the same sums of shifted lines.

#include <algorithm>
#include <string>
#include <vector>

#include "tegula/cpu/calls/convolution.h"
#include "tegula/cpu/calls/planes_kernels.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

constexpr std::int64_t kMostPlaneBytes = 1 << 20;  // a padded plane is read once for each few taps, from the second-level cache

/// The layout of one axis of a plane in the padded plane: element i is at position i * step + offset of `size`, if that is inside. Positions with
/// the same remainder modulo `stride` are contiguous.
struct PaddedAxis {
  std::int64_t step = 1, offset = 0, size = 0, stride = 1;
  std::int64_t pitch = 1, apart = 1;  // between places of one remainder that follow each other, between remainders

  bool holds(std::int64_t i) const { return i * step + offset >= 0 && i * step + offset < size; }
  std::int64_t place(std::int64_t i) const { return at(i * step + offset); }
  std::int64_t at(std::int64_t place) const { return place % stride * apart + place / stride * pitch; }
  std::int64_t places() const { return (size + stride - 1) / stride; }  // positions per remainder
};

/// A pass over planes of `source` elements with results, or gradients of results, in planes of `result` elements.
struct Planes {
  Axes3 source, result;
  std::array<PaddedAxis, 3> padded;
  std::vector<std::int32_t> taps;
  std::int64_t floats = 0;  // size of the padded plane, with room for a vector at its end

  explicit Planes(const Geometry& g, ConvolutionPass pass) : source(g.in), result(g.out) {
    const bool backward = pass == ConvolutionPass::BackwardData;
    if (backward) std::swap(source, result);
    for (std::size_t a = 0; a < 3; ++a) {
      const std::int64_t reach = (g.kernel[a] - 1) * g.dilation[a];
      if (backward) padded[a] = {.step = g.stride[a], .offset = reach - g.low[a], .size = g.in[a] + reach};
      else padded[a] = {.offset = g.low[a], .size = (g.out[a] - 1) * g.stride[a] + reach + 1, .stride = g.stride[a]};
    }
    std::int64_t pitch = 1;
    for (std::size_t a = 3; a-- > 0; pitch *= padded[a].places()) padded[a].pitch = pitch;
    for (std::size_t a = 3; a-- > 0; pitch *= padded[a].stride) padded[a].apart = pitch;
    floats = (pitch + plane_lanes() + 15) / 16 * 16;
    for (std::int64_t d = 0; d < g.kernel[0]; ++d) {
      for (std::int64_t h = 0; h < g.kernel[1]; ++h) {
        for (std::int64_t w = 0; w < g.kernel[2]; ++w) {
          const Axes3 tap{d, h, w};
          std::int64_t at = 0;
          for (std::size_t a = 0; a < 3; ++a) at += padded[a].at((backward ? g.kernel[a] - 1 - tap[a] : tap[a]) * g.dilation[a]);
          taps.push_back(static_cast<std::int32_t>(at));
        }
      }
    }
  }

  /// The lines' pairs from a plane of the source into the padded one.
  LinePairs padding() const {
    LinePairs lines;
    for (std::int64_t d = 0; d < source[0]; ++d) {
      for (std::int64_t h = 0; h < source[1]; ++h) {
        if (!padded[0].holds(d) || !padded[1].holds(h)) continue;
        const std::int64_t from = (d * source[1] + h) * source[2], to = padded[0].place(d) + padded[1].place(h);
        std::int64_t first = 0, last = source[2];
        while (first < last && !padded[2].holds(first)) ++first;
        while (first < last && !padded[2].holds(last - 1)) --last;
        if (padded[2].step == 1 && padded[2].stride == 1) {
          lines.add(from + first, to + padded[2].place(first), last - first);
        } else {
          for (std::int64_t w = first; w < last; ++w) lines.add(from + w, to + padded[2].place(w), 1);
        }
      }
    }
    return lines;
  }
  /// The lines' pairs from the inputs of the first tap of a line of results to that line.
  LinePairs results() const {
    LinePairs lines;
    for (std::int64_t d = 0; d < result[0]; ++d) {
      for (std::int64_t h = 0; h < result[1]; ++h)
        lines.add(d * padded[0].pitch + h * padded[1].pitch, (d * result[1] + h) * result[2], result[2]);
    }
    return lines;
  }
};

class PlaneConvolution : public runtime::Call {
 public:
  explicit PlaneConvolution(const Convolution& d)
      : description_(d),
        g_(d),
        planes_(g_, d.pass),
        padding_(planes_.padding()),
        results_(planes_.results()),
        most_threads_(library_threads()) {}

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(planes_.floats * most_threads_) * 4; }
  std::string describe() const override { return "planes, " + to_string(description_); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const bool sums_up = description_.pass == ConvolutionPass::BackwardWeight;
    // Each thread has channels of its own, whose weights' gradients no other adds to.
    parallel(static_cast<int>(std::clamp<std::int64_t>(options.threads, 1, std::min<std::int64_t>(most_threads_, g_.c))),
             [&](int thread, int count) {
               float* padded = static_cast<float*>(options.scratch) + thread * planes_.floats;
               std::fill_n(padded, planes_.floats, 0.0f);
               const Range channels = share(g_.c, thread, count);
               if (sums_up) add_up(buffers, channels, padded);
               else slide(buffers, channels, padded);
             });
  }

 private:
  static std::int64_t plane_of(const Strides5& lies, std::int64_t n, std::int64_t c) { return n * lies.n + c * lies.c; }

  void slide(std::span<void* const> buffers, Range channels, float* padded) const {
    const auto *source = static_cast<const float*>(buffers[0]), *weight = static_cast<const float*>(buffers[1]);
    const auto* bias = bias_ ? static_cast<const float*>(buffers[2]) : nullptr;
    auto* result = static_cast<float*>(buffers.back());
    const bool backward = description_.pass == ConvolutionPass::BackwardData;
    const Strides5 &from = backward ? g_.output : g_.input, &to = backward ? g_.input : g_.output;
    for (std::int64_t n = 0; n < g_.n; ++n) {
      for (std::int64_t c = channels.begin; c < channels.end; ++c) {
        copy_lines(source + plane_of(from, n, c), padding_, padded);
        line_sum({.from = padded,
                  .tap = planes_.taps,
                  .weight = weight + c * g_.taps(),
                  .lines = &results_,
                  .to = result + plane_of(to, n, c),
                  .bias = bias ? bias[c] : 0.0f,
                  .relu = relu_});
      }
    }
  }

  void add_up(std::span<void* const> buffers, Range channels, float* padded) const {
    const auto *input = static_cast<const float*>(buffers[0]), *dy = static_cast<const float*>(buffers[1]);
    auto* gradient = static_cast<float*>(buffers[2]);
    auto* bias = bias_ ? static_cast<float*>(buffers[3]) : nullptr;
    std::fill(gradient + channels.begin * g_.taps(), gradient + channels.end * g_.taps(), 0.0f);
    if (bias) std::fill(bias + channels.begin, bias + channels.end, 0.0f);
    for (std::int64_t n = 0; n < g_.n; ++n) {
      for (std::int64_t c = channels.begin; c < channels.end; ++c) {
        copy_lines(input + plane_of(g_.input, n, c), padding_, padded);
        line_gradient({.from = padded,
                       .tap = planes_.taps,
                       .lines = &results_,
                       .dy = dy + plane_of(g_.output, n, c),
                       .gradient = gradient + c * g_.taps(),
                       .sum = bias ? bias + c : nullptr});
      }
    }
  }

  Convolution description_;
  bool bias_ = has_bias(description_), relu_ = has_relu(description_);
  Geometry g_;
  Planes planes_;
  LinePairs padding_, results_;
  int most_threads_;
};

}  // namespace

bool planes_suit(const Convolution& d) {
  const Geometry g(d);
  if (d.dtype() != f32 || g.empty() || g.groups == 1 || g.c != g.groups || g.k != g.groups) return false;
  if (2 * std::min(g.in[2], g.out[2]) < plane_lanes()) return false;
  const bool rows =
      order_of(g.n, g.c, g.in, g.input) == Order::ChannelsFirst && order_of(g.n, g.k, g.out, g.output) == Order::ChannelsFirst;
  return rows && Planes(g, d.pass).floats * 4 <= kMostPlaneBytes;
}

std::unique_ptr<runtime::Call> make_plane_convolution(const Convolution& d) { return std::make_unique<PlaneConvolution>(d); }

}  // namespace tegula::host
