// Pooling in our own loops. The innermost one runs over lanes: channels when they are innermost in memory, else outputs of a line. Forward in f32, windows of which all
// lanes have the same taps go by vectors (pooling_kernels.h).

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/convolution.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/calls/pooling_kernels.h"
#include "tegula/cpu/calls/widened.h"
#include "tegula/cpu/parallel.h"
#include "tegula/runtime/checks.h"

namespace tegula::host {
namespace {

using runtime::Pooling;
using runtime::PoolingKind;

/// One spatial axis.
struct Axis {
  std::int64_t in = 1, out = 1, window = 1, stride = 1, dilation = 1, low = 0;

  std::int64_t position(std::int64_t output, std::int64_t tap) const { return output * stride - low + tap * dilation; }
  /// The taps of an output's window that lie inside the input.
  Range taps(std::int64_t output) const {
    const std::int64_t start = output * stride - low, room = in - 1 - start;
    const std::int64_t first = start >= 0 ? 0 : std::min(window, (-start + dilation - 1) / dilation);
    return {first, room < 0 ? first : std::max(first, std::min(window, room / dilation + 1))};
  }
  /// The outputs for which one tap lies inside the input.
  Range outputs(std::int64_t tap) const {
    const std::int64_t shift = tap * dilation - low, room = in - 1 - shift;
    const std::int64_t first = shift >= 0 ? 0 : std::min(out, (-shift + stride - 1) / stride);
    return {first, room < 0 ? first : std::max(first, std::min(out, room / stride + 1))};
  }
};

constexpr std::int64_t kMostLanes = 64;

/// Outputs that are computed together: `count` channels of one pixel or `count` neighbours of one line.
struct Lanes {
  std::int64_t image, channel;
  std::array<std::int64_t, 3> output;
  std::int64_t count;
};

template <class T>
class PoolingCall : public runtime::Call {
 public:
  explicit PoolingCall(const Pooling& d)
      : d_(d),
        n_(d.input.layout.shape[0]),
        c_(d.input.layout.shape[1]),
        most_threads_(library_threads()) {
    input_ = {d.input.layout.strides[0], d.input.layout.strides[1]};
    output_ = {d.output.layout.strides[0], d.output.layout.strides[1]};
    const Layout& taps = d.taps_layout();
    taps_ = {taps.strides[0], taps.strides[1]};
    const int spatial = d.input.layout.shape.rank() - 2;
    for (int i = 0; i < spatial; ++i) {
      const std::size_t to = 3 - static_cast<std::size_t>(spatial - i);
      axes_[to] = {d.input.layout.shape[i + 2], d.output.layout.shape[i + 2], d.window[i], d.stride[i], d.dilation[i], d.pad_low[i]};
      input_.spatial[to] = d.input.layout.strides[i + 2];
      output_.spatial[to] = d.output.layout.strides[i + 2];
      taps_.spatial[to] = taps.strides[i + 2];
    }
    over_channels_ = d.input.layout.strides[1] == 1 && d.output.layout.strides[1] == 1 && c_ > 1;
    in_step_ = over_channels_ ? 1 : axes_[2].stride * input_.spatial[2];
    out_step_ = over_channels_ ? 1 : output_.spatial[2];
    taps_step_ = over_channels_ ? taps_.c : taps_.spatial[2];
    for (std::int64_t o = 0; o < axes_[2].out; ++o) {
      const Range taps = axes_[2].taps(o);
      inside_.push_back(taps.end - taps.begin);
    }
    for (; full_.begin < axes_[2].out && inside_[static_cast<std::size_t>(full_.begin)] < axes_[2].window;) ++full_.begin;
    for (full_.end = full_.begin; full_.end < axes_[2].out && inside_[static_cast<std::size_t>(full_.end)] == axes_[2].window;) ++full_.end;
    by_vectors_ = !d.backward && std::is_same_v<T, float> && out_step_ == 1 && (in_step_ == 1 || in_step_ == 2) && taps_step_ == 1;
    for (std::int64_t tap = 0; tap < axes_[2].window; ++tap) outputs_of_tap_.push_back(axes_[2].outputs(tap));
    channels_per_item_ = over_channels_ ? kMostLanes : 1;
    for (std::int64_t tap = 0; d.has_taps() && tap < numel(d.window); ++tap) {
      std::int64_t rest = tap, offset = 0;
      for (std::size_t axis = 3; axis-- > 0; rest /= axes_[axis].window)
        offset += rest % axes_[axis].window * axes_[axis].dilation * input_.spatial[axis];
      offset_of_tap_.push_back(offset);
    }
  }

  std::string describe() const override {
    return std::string(d_.kind == PoolingKind::Max ? "max" : "average") + (d_.backward ? " pooling backward " : " pooling ") +
           to_string(d_.input.layout.shape) + " -> " + to_string(d_.output.layout.shape);
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const bool max = d_.kind == PoolingKind::Max, by_taps = d_.has_taps();
    const T* first = static_cast<const T*>(buffers[0]);
    const T* second = static_cast<const T*>(buffers[1]);
    T* result = static_cast<T*>(d_.backward ? buffers.back() : buffers[1]);
    auto* const taps = static_cast<std::uint8_t*>(d_.backward ? buffers[0] : by_taps && buffers.size() > 2 ? buffers[2] : nullptr);
    const std::int64_t blocks = (c_ + channels_per_item_ - 1) / channels_per_item_;
    // One item is one image's block of channels: its gradients overlap with no other's.
    parallel(std::clamp(options.threads, 1, most_threads_), [&](int thread, int count) {
      const Range mine = share(n_ * blocks, thread, count);
      for (std::int64_t item = mine.begin; item < mine.end; ++item) {
        const std::int64_t image = item / blocks, channel = item % blocks * channels_per_item_;
        const std::int64_t channels = std::min(channels_per_item_, c_ - channel);
        if (d_.backward) clear(result, image, channel, channels);
        if constexpr (std::is_same_v<T, float>) {
          if (by_vectors_) {
            forward_by_vectors(first, result, taps, image, channel, channels);
            continue;
          }
        }
        for_each_lanes(image, channel, channels, [&](const Lanes& g) {
          if (!d_.backward) forward(first, result, taps, g);
          else if (max) by_taps ? max_backward(taps, second, result, g) : search_backward(first, second, result, g);
          else average_backward(first, result, g);
        });
      }
    });
  }

 private:
  template <class F>
  void for_each_lanes(std::int64_t image, std::int64_t channel, std::int64_t channels, F&& visit) const {
    for (std::int64_t d = 0; d < axes_[0].out; ++d) {
      for (std::int64_t h = 0; h < axes_[1].out; ++h) lanes_of({image, channel, {d, h, 0}, channels}, {0, axes_[2].out}, visit);
    }
  }
  /// The lanes of a line's outputs.
  template <class F>
  void lanes_of(Lanes g, Range outputs, F&& visit) const {
    const std::int64_t step = over_channels_ ? 1 : kMostLanes;
    for (g.output[2] = outputs.begin; g.output[2] < outputs.end; g.output[2] += step) {
      if (!over_channels_) g.count = std::min(step, outputs.end - g.output[2]);
      visit(g);
    }
  }

  void forward(const T* x, T* y, std::uint8_t* taps, const Lanes& g) const {
    if (d_.kind != PoolingKind::Max) average_forward(x, y, g);
    else if (taps) max_and_taps(x, y, taps, g);
    else max_forward(x, y, g);
  }

  void forward_by_vectors(const float* x, float* y, std::uint8_t* taps, std::int64_t image, std::int64_t channel,
                          std::int64_t channels) const {
    for (std::int64_t d = 0; d < axes_[0].out; ++d) {
      for (std::int64_t h = 0; h < axes_[1].out; ++h) {
        const Lanes g{image, channel, {d, h, 0}, channels};
        const Range depth = axes_[0].taps(d), height = axes_[1].taps(h);
        const auto by_lanes = [&](Range outputs) { lanes_of(g, outputs, [&](const Lanes& lanes) { forward(x, y, taps, lanes); }); };
        if (depth.begin == depth.end || height.begin == height.end) {
          by_lanes({0, axes_[2].out});
          continue;
        }
        by_lanes({0, full_.begin});
        if (full_.end > full_.begin) full_windows(x, y, taps, g, depth, height);
        by_lanes({full_.end, axes_[2].out});
      }
    }
  }
  /// Outputs of a line whose windows lie inside of it.
  void full_windows(const float* x, float* y, std::uint8_t* taps, Lanes g, Range depth, Range height) const {
    g.output[2] = full_.begin;
    const std::int64_t outputs = full_.end - full_.begin;
    WindowLanes w{.from = x + g.image * input_.n + g.channel * input_.c + axes_[0].position(g.output[0], depth.begin) * input_.spatial[0] +
                          axes_[1].position(g.output[1], height.begin) * input_.spatial[1] +
                          axes_[2].position(full_.begin, 0) * input_.spatial[2],
                  .lanes = over_channels_ ? g.count : outputs,
                  .step = in_step_,
                  .runs = over_channels_ ? outputs : 1,
                  .from_run = axes_[2].stride * input_.spatial[2],
                  .to_run = output_.spatial[2],
                  .taps = {depth.end - depth.begin, height.end - height.begin, axes_[2].window}};
    for (std::size_t axis = 0; axis < 3; ++axis) w.distance[axis] = axes_[axis].dilation * input_.spatial[axis];
    float* const to = y ? y + output_offset(g) : nullptr;
    if (d_.kind == PoolingKind::Max && taps) {
      const auto across = static_cast<std::int32_t>(axes_[2].window), plane = static_cast<std::int32_t>(axes_[1].window) * across;
      w.number = {plane, across, 1};
      w.first_number = static_cast<std::int32_t>(depth.begin) * plane + static_cast<std::int32_t>(height.begin) * across;
      max_and_taps_of_windows(w, to, taps + offset_of(g, taps_), taps_.spatial[2]);
    } else if (d_.kind == PoolingKind::Max) {
      max_of_windows(w, to);
    } else {
      const bool padding = d_.kind == PoolingKind::AverageWithPadding;
      const std::int64_t elements = padding ? axes_[0].window * axes_[1].window * axes_[2].window : w.taps[0] * w.taps[1] * w.taps[2];
      mean_of_windows(w, static_cast<float>(elements), to);
    }
  }

  /// Calls visit(input offset of lane 0, lanes, tap) for every tap that any lane has inside the input, in row-major order.
  template <class F>
  void for_each_tap(const Lanes& g, F&& visit) const {
    const Range d = axes_[0].taps(g.output[0]), h = axes_[1].taps(g.output[1]);
    const Range w = over_channels_ ? axes_[2].taps(g.output[2]) : Range{0, axes_[2].window};
    for (std::int64_t i = d.begin; i < d.end; ++i) {
      for (std::int64_t j = h.begin; j < h.end; ++j) {
        const std::int64_t line = g.image * input_.n + g.channel * input_.c + axes_[0].position(g.output[0], i) * input_.spatial[0] +
                                  axes_[1].position(g.output[1], j) * input_.spatial[1];
        for (std::int64_t k = w.begin; k < w.end; ++k) {
          const std::int64_t at = line + axes_[2].position(g.output[2], k) * input_.spatial[2];
          Range lanes{0, g.count};
          if (!over_channels_) {
            const Range all = outputs_of_tap_[static_cast<std::size_t>(k)];
            lanes = {std::max<std::int64_t>(0, all.begin - g.output[2]), std::min(g.count, all.end - g.output[2])};
          }
          visit(at, lanes, (i * axes_[1].window + j) * axes_[2].window + k);
        }
      }
    }
  }
  static std::int64_t offset_of(const Lanes& g, const Strides5& in) {
    return g.image * in.n + g.channel * in.c + g.output[0] * in.spatial[0] + g.output[1] * in.spatial[1] + g.output[2] * in.spatial[2];
  }
  std::int64_t output_offset(const Lanes& g) const { return offset_of(g, output_); }

  /// The divisor of the window's sum, per lane.
  void divisors(const Lanes& g, T* divisor) const {
    const Range d = axes_[0].taps(g.output[0]), h = axes_[1].taps(g.output[1]);
    for (std::int64_t i = 0; i < g.count; ++i) {
      const std::int64_t w = inside_[static_cast<std::size_t>(g.output[2] + (over_channels_ ? 0 : i))];
      const std::int64_t inside = std::max<std::int64_t>(1, (d.end - d.begin) * (h.end - h.begin) * w);
      divisor[i] =
          static_cast<T>(d_.kind == PoolingKind::AverageWithPadding ? axes_[0].window * axes_[1].window * axes_[2].window : inside);
    }
  }

  /// Runs body(step) with the lanes' distance in the input as a constant where that makes a difference to the compiler.
  template <class F>
  void with_step(F&& body) const {
    if (in_step_ == 1) body(std::integral_constant<std::int64_t, 1>{});
    else if (in_step_ == 2) body(std::integral_constant<std::int64_t, 2>{});
    else body(in_step_);
  }

  /// A NaN counts as the maximum; of equals the first stays.
  static bool keeps(T best, T candidate) { return (candidate <= best) | (best != best); }

  void max_forward(const T* x, T* y, const Lanes& g) const {
    T best[kMostLanes];
    std::fill_n(best, g.count, -std::numeric_limits<T>::infinity());
    with_step([&](auto step) {
      for_each_tap(g, [&](std::int64_t at, Range lanes, std::int64_t) {
        const T* from = x + at;
        for (std::int64_t i = lanes.begin; i < lanes.end; ++i) {
          const T candidate = from[i * step];
          best[i] = keeps(best[i], candidate) ? best[i] : candidate;
        }
      });
    });
    T* to = y + output_offset(g);
    for (std::int64_t i = 0; i < g.count; ++i) to[i * out_step_] = best[i];
  }

  void average_forward(const T* x, T* y, const Lanes& g) const {
    T sum[kMostLanes], divisor[kMostLanes];
    std::fill_n(sum, g.count, T(0));
    divisors(g, divisor);
    with_step([&](auto step) {
      for_each_tap(g, [&](std::int64_t at, Range lanes, std::int64_t) {
        const T* from = x + at;
        for (std::int64_t i = lanes.begin; i < lanes.end; ++i) sum[i] += from[i * step];
      });
    });
    T* to = y + output_offset(g);
    for (std::int64_t i = 0; i < g.count; ++i) to[i * out_step_] = sum[i] / divisor[i];
  }

  using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;  // as wide as T, for the sake of vectors

  /// The maxima of windows, and for each lane what named(at, i, tap) says of the first one; -1 where the window lies in the padding.
  template <class Named>
  void search(const T* x, const Lanes& g, T* best, Index* where, Named&& named) const {
    std::fill_n(best, g.count, -std::numeric_limits<T>::infinity());
    std::fill_n(where, g.count, Index(-1));
    with_step([&](auto step) {
      for_each_tap(g, [&](std::int64_t at, Range lanes, std::int64_t tap) {
        const T* from = x + at;
        const Index begin = static_cast<Index>(lanes.begin), end = static_cast<Index>(lanes.end);
        const auto name = named(at, step, tap);
        for (Index i = begin; i < end; ++i) {
          const T candidate = from[i * step];
          const bool keep = keeps(best[i], candidate) & (where[i] >= 0);
          best[i] = keep ? best[i] : candidate;
          where[i] = keep ? where[i] : name(i);
        }
      });
    });
  }

  void max_and_taps(const T* x, T* y, std::uint8_t* taps, const Lanes& g) const {
    T best[kMostLanes];
    Index where[kMostLanes];
    search(x, g, best, where, [](std::int64_t, auto, std::int64_t tap) { return [tap = static_cast<Index>(tap)](Index) { return tap; }; });
    for (std::int64_t i = 0; y && i < g.count; ++i) y[output_offset(g) + i * out_step_] = best[i];
    std::uint8_t* const to = taps + offset_of(g, taps_);
    for (std::int64_t i = 0; i < g.count; ++i) to[i * taps_step_] = static_cast<std::uint8_t>(where[i]);  // -1 becomes kNoTap
  }

  void max_backward(const std::uint8_t* taps, const T* dy, T* dx, const Lanes& g) const {
    const std::uint8_t* const of = taps + offset_of(g, taps_);
    const T* const from = dy + output_offset(g);
    T* const first = dx + g.image * input_.n + g.channel * input_.c;
    std::int64_t start = 0;  // offset of lane 0's window, which may begin in the padding
    for (std::size_t axis = 0; axis < 3; ++axis) start += axes_[axis].position(g.output[axis], 0) * input_.spatial[axis];
    for (std::int64_t i = 0; i < g.count; ++i) {
      const std::uint8_t tap = of[i * taps_step_];
      if (tap != Pooling::kNoTap) first[start + i * in_step_ + offset_of_tap_[tap]] += from[i * out_step_];
    }
  }

  void search_backward(const T* x, const T* dy, T* dx, const Lanes& g) const {
    const std::int64_t base = g.image * input_.n + g.channel * input_.c;
    T best[kMostLanes];
    Index where[kMostLanes];  // from base
    search(x, g, best, where, [base](std::int64_t at, auto step, std::int64_t) {
      return [first = static_cast<Index>(at - base), distance = static_cast<Index>(step)](Index i) { return first + i * distance; };
    });
    const T* from = dy + output_offset(g);
    T* to = dx + base;
    for (std::int64_t i = 0; i < g.count; ++i) {
      if (where[i] >= 0) to[where[i]] += from[i * out_step_];
    }
  }

  void average_backward(const T* dy, T* dx, const Lanes& g) const {
    T part[kMostLanes], divisor[kMostLanes];
    divisors(g, divisor);
    const T* from = dy + output_offset(g);
    for (std::int64_t i = 0; i < g.count; ++i) part[i] = from[i * out_step_] / divisor[i];
    with_step([&](auto step) {
      for_each_tap(g, [&](std::int64_t at, Range lanes, std::int64_t) {
        T* to = dx + at;
        for (std::int64_t i = lanes.begin; i < lanes.end; ++i) to[i * step] += part[i];
      });
    });
  }

  void clear(T* dx, std::int64_t image, std::int64_t channel, std::int64_t channels) const {
    T* plane = dx + image * input_.n + channel * input_.c;
    for (std::int64_t d = 0; d < axes_[0].in; ++d) {
      for (std::int64_t h = 0; h < axes_[1].in; ++h) {
        T* line = plane + d * input_.spatial[0] + h * input_.spatial[1];
        if (input_.spatial[2] == 1 && channels == 1) {
          std::fill_n(line, axes_[2].in, T(0));
          continue;
        }
        for (std::int64_t w = 0; w < axes_[2].in; ++w) {
          for (std::int64_t c = 0; c < channels; ++c) line[w * input_.spatial[2] + c * input_.c] = T(0);
        }
      }
    }
  }

  Pooling d_;
  std::int64_t n_, c_;
  std::array<Axis, 3> axes_{};  // missing ones stand in front with size 1
  Strides5 input_, output_, taps_;
  int most_threads_;
  bool over_channels_ = false, by_vectors_ = false;
  std::int64_t in_step_ = 1, out_step_ = 1, taps_step_ = 1, channels_per_item_ = 1;
  std::vector<std::int64_t> inside_;  // taps inside the input, per output of the last axis
  Range full_{0, 0};  // outputs of the last axis that have all taps inside the input
  std::vector<Range> outputs_of_tap_;  // for the last axis
  std::vector<std::int64_t> offset_of_tap_;  // in the input, from where the window begins
};

}  // namespace

std::unique_ptr<runtime::Call> make_pooling(const Pooling& description) {
  runtime::check(description);
  if (description.dtype() == f64) return std::make_unique<PoolingCall<double>>(description);
  if (description.dtype() == f32) return std::make_unique<PoolingCall<float>>(description);
  Pooling inner = description.in(f32);
  inner.taps.layout = description.taps_layout();
  inner.input.layout = widened_layout(description.input.layout), inner.output.layout = widened_layout(description.output.layout);
  const bool taps = description.has_taps();
  const HalfBuffer input{"input", description.input.layout, description.backward},
      output{"output", description.output.layout, !description.backward}, bytes{"taps", {}, !description.backward};
  std::vector<HalfBuffer> buffers{input, output};
  if (description.backward) {
    buffers = {output, input};
    if (description.kind == PoolingKind::Max) buffers.insert(buffers.begin(), taps ? bytes : HalfBuffer{"input", description.input.layout});
  } else if (taps) {
    buffers.push_back(bytes);
  }
  return make_widened(make_pooling(inner), description.dtype(), buffers);
}

}  // namespace tegula::host
