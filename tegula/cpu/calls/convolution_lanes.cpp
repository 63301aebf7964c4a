// Convolution with images in the lanes of a vector, for batches of layers with few channels, whose counts seldom fill vectors of
// channels. Each thread takes blocks of as many images as a vector has lanes, transposes their input into a padded block, and sums
// over taps by tables of offsets; forward and backward-data differ in the tables alone. Layouts cost nothing: the transposition
// reads and writes channels-first and channels-last alike.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tegula/cpu/calls/convolution.h"
#include "tegula/cpu/calls/lanes_kernels.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

constexpr std::int64_t kMostBlockBytes = 4 << 20;
constexpr std::int64_t kStageBytes = 128 << 10;    // results that wait for their transposition, in the second-level cache
constexpr std::int64_t kGradientBytes = 26 << 10;  // four channels of the output gradient, in the first-level cache

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// The layout of one tensor's images in a block, with a border of zeros.
struct BlockLayout {
  std::int64_t channels = 0, positions = 0, channel_stride = 0;
  Axes3 stride{}, low{};
  std::vector<LaneRun> runs, border;  // border: position and length

  BlockLayout() = default;
  BlockLayout(std::int64_t n, std::int64_t channel_count, const Axes3& size, const Strides5& lies, const Axes3& border_low,
              const Axes3& border_high)
      : channels(channel_count),
        low(border_low) {
    Axes3 padded;
    for (std::size_t axis = 0; axis < 3; ++axis) padded[axis] = size[axis] + border_low[axis] + border_high[axis];
    const bool last = order_of(n, channels, size, lies) == Order::ChannelsLast;
    const std::int64_t pixel = last ? channels : 1, distance = last ? pixel_distance(n, channels, size, lies) : 1;
    stride = {padded[1] * padded[2] * pixel, padded[2] * pixel, pixel};
    positions = channels * padded[0] * padded[1] * padded[2];
    channel_stride = last ? 1 : positions / channels;
    // Lines in the order of memory; those that follow each other become one run.
    for (std::int64_t c = 0; c < (last ? 1 : channels); ++c) {
      for (std::int64_t d = 0; d < size[0]; ++d) {
        for (std::int64_t h = 0; h < size[1]; ++h) {
          const std::int64_t element = ((c * size[0] + d) * size[1] + h) * size[2] * distance;
          const std::int64_t position = c * channel_stride + at({d, h, 0}), count = distance == pixel ? 1 : size[2];
          for (std::int64_t w = 0; w < count; ++w) add({element + w * distance, position + w * pixel, size[2] / count * pixel});
        }
      }
    }
    std::int64_t end = 0;
    for (const LaneRun& run : runs) {
      if (run.position > end) border.push_back({0, end, run.position - end});
      end = run.position + run.length;
    }
    if (end < positions) border.push_back({0, end, positions - end});
  }

  std::int64_t at(const Axes3& pixel) const {
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) position += (pixel[axis] + low[axis]) * stride[axis];
    return position;
  }
  void clear_border(float* block, std::int64_t lanes) const {
    for (const LaneRun& zeros : border) std::fill_n(block + zeros.position * lanes, zeros.length * lanes, 0.0f);
  }

 private:
  void add(const LaneRun& run) {
    if (!runs.empty() && runs.back().element + runs.back().length == run.element &&
        runs.back().position + runs.back().length == run.position) {
      runs.back().length += run.length;
    } else {
      runs.push_back(run);
    }
  }
};

/// Result pixels that use the same taps: all of them forward; backward those whose distances to the outputs they fed are equal
/// modulo the stride.
struct Phase {
  std::vector<std::int32_t> tap;         // offsets in the source block
  std::vector<std::int64_t> weight;      // the address of each tap's weight for result channel 0
  std::vector<std::int32_t> pixel_in, pixel_out;
  std::vector<std::size_t> chunk_begin;  // first pixel of each chunk, and the end
  std::int64_t packed = 0;               // offset of its weights in the packed ones
};

/// Result lines that are computed and then transposed out together.
struct Chunk {
  std::vector<LaneRun> runs;
};

/// Floats rounded up to whole cache lines.
std::int64_t aligned(std::int64_t floats) { return (floats + 15) / 16 * 16; }

/// Forward and backward-data: a sum over taps for every result pixel.
class LaneSums : public runtime::Call {
 public:
  explicit LaneSums(const Convolution& d) : description_(d), g_(d), lanes_(lane_count()), most_threads_(library_threads()) {
    const bool forward = d.pass == ConvolutionPass::Forward;
    results_ = forward ? g_.k : g_.c;
    result_weight_stride_ = forward ? g_.c * g_.taps() : g_.taps();
    result_size_ = forward ? g_.out : g_.in;
    const Strides5& lies = forward ? g_.output : g_.input;
    result_order_ = order_of(g_.n, results_, result_size_, lies);
    result_distance_ = pixel_distance(g_.n, results_, result_size_, lies);
    const std::int64_t line = result_size_[2] * results_ * lanes_ * 4;
    lines_ = result_size_[0] * result_size_[1];
    lines_per_chunk_ = std::clamp<std::int64_t>(kStageBytes / line, 1, lines_);
    if (forward) plan_forward();
    else plan_backward();
    rows_ = tap_sum_rows(results_);
    for (Phase& phase : phases_) {
      phase.packed = packed_;
      packed_ += aligned((results_ + rows_ - 1) / rows_ * rows_ * static_cast<std::int64_t>(phase.tap.size()));
    }
    plan_chunks();
  }

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(per_thread() * most_threads_) * 4; }
  std::string describe() const override { return "images in lanes, " + to_string(description_); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const auto* source = static_cast<const float*>(buffers[0]);
    const auto* weight = static_cast<const float*>(buffers[1]);
    const auto* bias = bias_ ? static_cast<const float*>(buffers[2]) : nullptr;
    auto* result = static_cast<float*>(buffers.back());
    const std::int64_t blocks = (g_.n + lanes_ - 1) / lanes_;
    const std::int64_t source_image = description_.pass == ConvolutionPass::Forward ? g_.input.n : g_.output.n;
    const std::int64_t result_image = description_.pass == ConvolutionPass::Forward ? g_.output.n : g_.input.n;
    parallel(std::clamp(options.threads, 1, most_threads_), [&](int thread, int count) {
      const Range mine = share(blocks, thread, count);
      if (mine.begin == mine.end) return;
      float* packed = static_cast<float*>(options.scratch) + thread * per_thread();
      float* block = packed + packed_;
      float* stage = block + source_.positions * lanes_;
      pack(weight, packed);
      source_.clear_border(block, lanes_);
      for (std::int64_t b = mine.begin; b < mine.end; ++b) {
        const std::int64_t images = std::min(lanes_, g_.n - b * lanes_);
        gather_lanes(source + b * lanes_ * source_image, source_image, images, source_.runs, block);
        for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
          for (const Phase& phase : phases_) {
            const std::size_t begin = phase.chunk_begin[chunk], pixels = phase.chunk_begin[chunk + 1] - begin;
            if (pixels == 0) continue;
            tap_sum({.in = block,
                     .tap = phase.tap,
                     .weights = packed + phase.packed,
                     .outputs = results_,
                     .pixel_in = std::span(phase.pixel_in).subspan(begin, pixels),
                     .pixel_out = std::span(phase.pixel_out).subspan(begin, pixels),
                     .out = stage,
                     .output_stride = stage_channel_stride(chunk) * lanes_,
                     .bias = bias,
                     .relu = relu_});
          }
          scatter_lanes(stage, chunks_[chunk].runs, images, result + b * lanes_ * result_image, result_image);
        }
      }
    });
  }

 private:
  std::int64_t per_thread() const { return packed_ + (source_.positions + lines_per_chunk_ * result_size_[2] * results_) * lanes_; }
  std::int64_t lines_of(std::size_t chunk) const {
    return std::min(lines_per_chunk_, lines_ - static_cast<std::int64_t>(chunk) * lines_per_chunk_);
  }
  /// Positions between two result channels in the stage, which lies as the result does.
  std::int64_t stage_channel_stride(std::size_t chunk) const {
    return result_order_ == Order::ChannelsLast ? 1 : lines_of(chunk) * result_size_[2];
  }

  void plan_forward() {
    Axes3 high;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t last = (g_.out[axis] - 1) * g_.stride[axis] + (g_.kernel[axis] - 1) * g_.dilation[axis] - g_.low[axis];
      high[axis] = std::max<std::int64_t>(0, last - (g_.in[axis] - 1));
    }
    source_ = BlockLayout(g_.n, g_.c, g_.in, g_.input, g_.low, high);
    Phase phase;
    for (std::int64_t c = 0; c < g_.c; ++c) {
      for (std::int64_t tap = 0; tap < g_.taps(); ++tap) {
        const Axes3 k = kernel_position(tap);
        std::int64_t position = c * source_.channel_stride;
        for (std::size_t axis = 0; axis < 3; ++axis) position += k[axis] * g_.dilation[axis] * source_.stride[axis];
        phase.tap.push_back(static_cast<std::int32_t>(position * lanes_));
        phase.weight.push_back(c * g_.taps() + tap);
      }
    }
    phases_.push_back(std::move(phase));
    phase_of_ = [](const Axes3&) { return std::size_t{0}; };
    base_of_ = [this](const Axes3& o) {  // the block begins at input -low
      std::int64_t position = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) position += o[axis] * g_.stride[axis] * source_.stride[axis];
      return position;
    };
  }

  // Input i meets tap r at output (i + low - r*dilation) / stride where that is whole: where i + low and r*dilation have one
  // remainder, and then it is the difference of the two quotients.
  void plan_backward() {
    Axes3 low, high;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t first = floor_div(g_.low[axis], g_.stride[axis]),
                         last = floor_div(g_.in[axis] - 1 + g_.low[axis], g_.stride[axis]);
      low[axis] = std::max<std::int64_t>(0, (g_.kernel[axis] - 1) * g_.dilation[axis] / g_.stride[axis] - first);
      high[axis] = std::max<std::int64_t>(0, last - (g_.out[axis] - 1));
    }
    source_ = BlockLayout(g_.n, g_.k, g_.out, g_.output, low, high);
    phases_.resize(static_cast<std::size_t>(g_.stride[0] * g_.stride[1] * g_.stride[2]));
    for (std::int64_t k = 0; k < g_.k; ++k) {
      for (std::int64_t tap = 0; tap < g_.taps(); ++tap) {
        const Axes3 r = kernel_position(tap);
        std::int64_t position = k * source_.channel_stride;
        std::size_t phase = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const std::int64_t reach = r[axis] * g_.dilation[axis];
          position -= reach / g_.stride[axis] * source_.stride[axis];
          phase = phase * static_cast<std::size_t>(g_.stride[axis]) + static_cast<std::size_t>(reach % g_.stride[axis]);
        }
        phases_[phase].tap.push_back(static_cast<std::int32_t>(position * lanes_));
        phases_[phase].weight.push_back(k * g_.c * g_.taps() + tap);
      }
    }
    phase_of_ = [this](const Axes3& i) {
      std::size_t phase = 0;
      for (std::size_t axis = 0; axis < 3; ++axis)
        phase = phase * static_cast<std::size_t>(g_.stride[axis]) + static_cast<std::size_t>((i[axis] + g_.low[axis]) % g_.stride[axis]);
      return phase;
    };
    base_of_ = [this](const Axes3& i) {
      Axes3 o;
      for (std::size_t axis = 0; axis < 3; ++axis) o[axis] = (i[axis] + g_.low[axis]) / g_.stride[axis];
      return source_.at(o);
    };
  }

  void plan_chunks() {
    const std::int64_t pixels = lines_ * result_size_[2];
    for (std::int64_t line = 0; line < lines_; line += lines_per_chunk_) {
      for (Phase& phase : phases_) phase.chunk_begin.push_back(phase.pixel_in.size());
      const std::int64_t first = line * result_size_[2], count = lines_of(chunks_.size()) * result_size_[2];
      const std::int64_t pixel_stride = result_order_ == Order::ChannelsLast ? results_ : 1;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t p = first + i;
        const Axes3 at{p / result_size_[2] / result_size_[1], p / result_size_[2] % result_size_[1], p % result_size_[2]};
        Phase& phase = phases_[phase_of_(at)];
        phase.pixel_in.push_back(static_cast<std::int32_t>(base_of_(at) * lanes_));
        phase.pixel_out.push_back(static_cast<std::int32_t>(i * pixel_stride * lanes_));
      }
      Chunk chunk;
      if (result_order_ == Order::ChannelsLast && result_distance_ == results_) {
        chunk.runs.push_back({first * results_, 0, count * results_});
      } else if (result_order_ == Order::ChannelsLast) {
        for (std::int64_t i = 0; i < count; ++i) chunk.runs.push_back({(first + i) * result_distance_, i * results_, results_});
      } else {
        for (std::int64_t k = 0; k < results_; ++k) chunk.runs.push_back({k * pixels + first, k * count, count});
      }
      chunks_.push_back(std::move(chunk));
    }
    for (Phase& phase : phases_) phase.chunk_begin.push_back(phase.pixel_in.size());
  }

  Axes3 kernel_position(std::int64_t tap) const {
    return {tap / g_.kernel[2] / g_.kernel[1], tap / g_.kernel[2] % g_.kernel[1], tap % g_.kernel[2]};
  }

  /// Per phase (blocks of rows_ results, taps, rows_), as tap_sum reads them; missing rows are zeros.
  void pack(const float* weight, float* packed) const {
    for (const Phase& phase : phases_) {
      float* to = packed + phase.packed;
      for (std::int64_t k = 0; k < results_; k += rows_) {
        const std::int64_t rows = std::min(rows_, results_ - k);
        for (const std::int64_t tap : phase.weight) {
          for (std::int64_t i = 0; i < rows; ++i) to[i] = weight[tap + (k + i) * result_weight_stride_];
          std::fill(to + rows, to + rows_, 0.0f);
          to += rows_;
        }
      }
    }
  }

  Convolution description_;
  bool bias_ = has_bias(description_), relu_ = has_relu(description_);
  Geometry g_;
  std::int64_t lanes_;
  int most_threads_;
  std::int64_t results_ = 0, rows_ = 0, result_weight_stride_ = 0, result_distance_ = 0, packed_ = 0;
  Order result_order_ = Order::ChannelsFirst;
  Axes3 result_size_{};
  std::int64_t lines_ = 0, lines_per_chunk_ = 1;  // lines of the result: runs over the last axis
  BlockLayout source_;
  std::vector<Phase> phases_;
  std::vector<Chunk> chunks_;
  std::function<std::size_t(const Axes3&)> phase_of_;
  std::function<std::int64_t(const Axes3&)> base_of_;
};

/// Backward-weight: for every pair of result channel and tap a sum over pixels and images.
class LaneGradient : public runtime::Call {
 public:
  explicit LaneGradient(const Convolution& d) : description_(d), g_(d), lanes_(lane_count()), most_threads_(library_threads()) {
    Axes3 high;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t last = (g_.out[axis] - 1) * g_.stride[axis] + (g_.kernel[axis] - 1) * g_.dilation[axis] - g_.low[axis];
      high[axis] = std::max<std::int64_t>(0, last - (g_.in[axis] - 1));
    }
    input_ = BlockLayout(g_.n, g_.c, g_.in, g_.input, g_.low, high);
    output_ = BlockLayout(g_.n, g_.k, g_.out, g_.output, Axes3{}, Axes3{});
    for (std::int64_t c = 0; c < g_.c; ++c) {
      for (std::int64_t tap = 0; tap < g_.taps(); ++tap) {
        const Axes3 r{tap / g_.kernel[2] / g_.kernel[1], tap / g_.kernel[2] % g_.kernel[1], tap % g_.kernel[2]};
        std::int64_t position = c * input_.channel_stride;
        for (std::size_t axis = 0; axis < 3; ++axis) position += r[axis] * g_.dilation[axis] * input_.stride[axis];
        tap_.push_back(static_cast<std::int32_t>(position * lanes_));
      }
    }
    const std::int64_t pixels = g_.out_pixels();
    for (std::int64_t p = 0; p < pixels; ++p) {
      const Axes3 o{p / g_.out[2] / g_.out[1], p / g_.out[2] % g_.out[1], p % g_.out[2]};
      std::int64_t position = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) position += o[axis] * g_.stride[axis] * input_.stride[axis];
      pixel_in_.push_back(static_cast<std::int32_t>(position * lanes_));
      pixel_out_.push_back(static_cast<std::int32_t>(output_.at(o) * lanes_));
    }
    chunks_ = std::max<std::int64_t>(1, pixels * 4 * lanes_ * 4 / kGradientBytes);
    sums_ = (g_.k + 3) / 4 * 4 * static_cast<std::int64_t>(tap_.size());
  }

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(per_thread() * most_threads_) * 4; }
  std::string describe() const override { return "images in lanes, " + to_string(description_); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const auto* input = static_cast<const float*>(buffers[0]);
    const auto* gradient = static_cast<const float*>(buffers[1]);
    auto* result = static_cast<float*>(buffers[2]);
    auto* bias = bias_ ? static_cast<float*>(buffers[3]) : nullptr;
    float* space = static_cast<float*>(options.scratch);
    const std::int64_t blocks = (g_.n + lanes_ - 1) / lanes_, input_image = g_.input.n, output_image = g_.output.n;
    int taken = 1;
    parallel(std::clamp(options.threads, 1, most_threads_), [&](int thread, int count) {
      if (thread == 0) taken = count;
      float* sums = space + thread * per_thread();
      float* x = sums + aligned(sums_ + g_.k);
      float* dy = x + input_.positions * lanes_;
      std::fill_n(sums, sums_ + g_.k, 0.0f);
      const Range mine = share(blocks, thread, count);
      if (mine.begin < mine.end) input_.clear_border(x, lanes_);
      for (std::int64_t b = mine.begin; b < mine.end; ++b) {
        const std::int64_t images = std::min(lanes_, g_.n - b * lanes_);
        gather_lanes(input + b * lanes_ * input_image, input_image, images, input_.runs, x);
        gather_lanes(gradient + b * lanes_ * output_image, output_image, images, output_.runs, dy);
        for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
          const Range pixels = share(static_cast<std::int64_t>(pixel_in_.size()), chunk, chunks_);
          const auto part = [&](const std::vector<std::int32_t>& all) {
            return std::span(all).subspan(static_cast<std::size_t>(pixels.begin), static_cast<std::size_t>(pixels.end - pixels.begin));
          };
          tap_gradient({.in = x,
                        .tap = tap_,
                        .dy = dy,
                        .outputs = g_.k,
                        .output_stride = output_.channel_stride * lanes_,
                        .pixel_in = part(pixel_in_),
                        .pixel_out = part(pixel_out_),
                        .gradient = sums});
        }
        if (bias) lane_sums(dy, g_.k, output_.channel_stride * lanes_, pixel_out_, sums + sums_);
      }
    });
    // In the order of the threads, so that a thread count has one result.
    const std::int64_t taps = static_cast<std::int64_t>(tap_.size()), padded = sums_ / taps;
    for (std::int64_t k = 0; k < g_.k; ++k) {
      const auto total = [&](std::int64_t at) {
        float sum = 0;
        for (int thread = 0; thread < taken; ++thread) sum += space[thread * per_thread() + at];
        return sum;
      };
      for (std::int64_t t = 0; t < taps; ++t) result[k * taps + t] = total(t * padded + k);
      if (bias) bias[k] = total(sums_ + k);
    }
  }

 private:
  std::int64_t per_thread() const { return aligned(sums_ + g_.k) + (input_.positions + output_.positions) * lanes_; }

  Convolution description_;
  bool bias_ = description_.bias_gradient;
  Geometry g_;
  std::int64_t lanes_;
  int most_threads_;
  BlockLayout input_, output_;
  std::vector<std::int32_t> tap_, pixel_in_, pixel_out_;
  std::int64_t chunks_ = 1, sums_ = 0;
};

}  // namespace

bool lanes_suit(const Convolution& d) {
  const Geometry g(d);
  const Order input = order_of(g.n, g.c, g.in, g.input), output = order_of(g.n, g.k, g.out, g.output);
  if (d.dtype() != f32 || g.groups != 1 || g.empty() || input == Order::Other || output == Order::Other) return false;
  // Half-empty vectors and idle threads.
  const std::int64_t lanes = lane_count(), threads = library_threads();
  const std::int64_t blocks = (g.n + lanes - 1) / lanes, rounds = (blocks + threads - 1) / threads;
  if (static_cast<double>(g.n) < 0.6 * static_cast<double>(rounds * threads * lanes)) return false;
  // A block of images that is far larger than the second-level cache.
  if (std::max(g.c * g.in_pixels(), g.k * g.out_pixels()) * lanes * 4 > kMostBlockBytes) return false;
  // oneDNN's vectors run over channels and are the better ones where these fill them.
  const bool fills_inputs = g.c % 16 == 0, fills_outputs = g.k % 16 == 0,
             last = input == Order::ChannelsLast && output == Order::ChannelsLast;
  if (fills_inputs && fills_outputs) return false;
  switch (d.pass) {
    case ConvolutionPass::Forward: return !(fills_outputs && (last || (g.c > 1 && g.c <= 4)));
    case ConvolutionPass::BackwardWeight: return !(fills_outputs && last && g.c >= 16);
    default: return true;
  }
}

std::unique_ptr<runtime::Call> make_lanes_convolution(const Convolution& d) {
  if (d.pass == ConvolutionPass::BackwardWeight) return std::make_unique<LaneGradient>(d);
  return std::make_unique<LaneSums>(d);
}

}  // namespace tegula::host
