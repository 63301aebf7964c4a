// Convolution as a product with the matrix of patches ("im2col"; Chellapilla et al. 2006), a few output lines at a time. Used
// for f64, close to the reference, and for cases that the faster ways do not take.

#include <algorithm>
#include <vector>

#include "tegula/cpu/calls/convolution.h"
#include "tegula/cpu/calls/gemm.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {
using runtime::ConvolutionPass;

constexpr std::int64_t kPatchBytes = 1 << 20;  // size of the matrix of patches that one thread holds

/// Output lines [begin, end) of one image: a line is a run over the last axis.
struct Lines {
  std::int64_t begin = 0, end = 0;
};

template <class T>
class PatchConvolution : public runtime::Call {
 public:
  explicit PatchConvolution(const runtime::Convolution& d) : description_(d), g_(d), most_threads_(library_threads()) {
    rows_ = g_.channels_per_group() * g_.taps();
    lines_ = g_.out[0] * g_.out[1];
    const std::int64_t line_bytes = std::max<std::int64_t>(1, rows_ * g_.out[2] * static_cast<std::int64_t>(sizeof(T)));
    lines_per_block_ = std::clamp<std::int64_t>(kPatchBytes / line_bytes, 1, std::max<std::int64_t>(1, lines_));
    blocks_ = (lines_ + lines_per_block_ - 1) / lines_per_block_;
    const std::int64_t columns = lines_per_block_ * g_.out[2];
    patches_ = aligned(rows_ * columns);
    values_ = aligned(g_.outputs_per_group() * columns);
    gradient_ = d.pass == ConvolutionPass::BackwardWeight ? aligned(g_.outputs_per_group() * rows_) : 0;
    partial_ = d.pass == ConvolutionPass::BackwardWeight ? aligned(g_.k * rows_ + g_.k) : 0;
    const std::int64_t m = std::max(g_.outputs_per_group(), rows_), n = std::max(columns, rows_),
                       k = std::max({rows_, columns, g_.outputs_per_group()});
    gemm_ = static_cast<std::int64_t>(gemm_scratch_bytes(m, n, k, sizeof(T)) / sizeof(T));
  }

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(per_thread() * most_threads_) * sizeof(T); }
  std::string describe() const override { return "patches " + to_string(description_); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const int threads = std::clamp(options.threads, 1, most_threads_);
    T* space = static_cast<T*>(options.scratch);
    switch (description_.pass) {
      case ConvolutionPass::Forward:
        return forward(static_cast<const T*>(buffers[0]), static_cast<const T*>(buffers[1]),
                       bias_ ? static_cast<const T*>(buffers[2]) : nullptr, static_cast<T*>(buffers[bias_ ? 3 : 2]), space, threads);
      case ConvolutionPass::BackwardData:
        return backward_data(static_cast<const T*>(buffers[0]), static_cast<const T*>(buffers[1]), static_cast<T*>(buffers[2]), space,
                             threads);
      case ConvolutionPass::BackwardWeight:
        return backward_weight(static_cast<const T*>(buffers[0]), static_cast<const T*>(buffers[1]), static_cast<T*>(buffers[2]),
                               bias_ ? static_cast<T*>(buffers[3]) : nullptr, space, threads);
    }
  }

 private:
  static std::int64_t aligned(std::int64_t elements) { return (elements + 15) / 16 * 16; }
  std::int64_t per_thread() const { return patches_ + values_ + gradient_ + partial_ + gemm_; }
  Lines lines_of(std::int64_t block) const { return {block * lines_per_block_, std::min(lines_, (block + 1) * lines_per_block_)}; }

  /// The parts of one thread's scratch.
  struct Space {
    T *patches, *values, *gradient, *partial, *gemm;
  };
  Space space_of(T* scratch, int thread) const {
    T* s = scratch + thread * per_thread();
    return {s, s + patches_, s + patches_ + values_, s + patches_ + values_ + gradient_, s + patches_ + values_ + gradient_ + partial_};
  }

  /// Calls visit(patch row, patch column of a line's start, x at the line's first tap position, first and last output inside the
  /// image) for every tap and line: the output o of the line meets input offset o * stride.
  template <class F>
  void for_each_run(const Lines& lines, F&& visit) const {
    std::int64_t row = 0;
    for (std::int64_t c = 0; c < g_.channels_per_group(); ++c) {
      for (std::int64_t kd = 0; kd < g_.kernel[0]; ++kd) {
        for (std::int64_t kh = 0; kh < g_.kernel[1]; ++kh) {
          for (std::int64_t kw = 0; kw < g_.kernel[2]; ++kw, ++row) {
            const std::int64_t shift = kw * g_.dilation[2] - g_.low[2];  // x = o * stride + shift
            const std::int64_t first = shift >= 0 ? 0 : std::min(g_.out[2], (-shift + g_.stride[2] - 1) / g_.stride[2]);
            const std::int64_t room = g_.in[2] - 1 - shift;
            const std::int64_t last = room < 0 ? first : std::max(first, std::min(g_.out[2], room / g_.stride[2] + 1));
            for (std::int64_t line = lines.begin; line < lines.end; ++line) {
              const std::int64_t d = line / g_.out[1] * g_.stride[0] + kd * g_.dilation[0] - g_.low[0];
              const std::int64_t h = line % g_.out[1] * g_.stride[1] + kh * g_.dilation[1] - g_.low[1];
              const bool inside = d >= 0 && d < g_.in[0] && h >= 0 && h < g_.in[1] && first < last;
              const std::int64_t at = c * g_.input.c + d * g_.input.spatial[0] + h * g_.input.spatial[1] + shift * g_.input.spatial[2];
              visit(row, (line - lines.begin) * g_.out[2], at, inside ? first : 0, inside ? last : 0);
            }
          }
        }
      }
    }
  }

  /// (rows_, columns of these lines) from the channels that begin at `image`.
  void gather_patches(const T* image, const Lines& lines, T* patches) const {
    const std::int64_t columns = (lines.end - lines.begin) * g_.out[2], step = g_.stride[2] * g_.input.spatial[2];
    for_each_run(lines, [&](std::int64_t row, std::int64_t column, std::int64_t at, std::int64_t first, std::int64_t last) {
      T* to = patches + row * columns + column;
      std::fill(to, to + first, T(0));
      for (std::int64_t o = first; o < last; ++o) to[o] = image[at + o * step];
      std::fill(to + last, to + g_.out[2], T(0));
    });
  }
  void scatter_patches(const T* patches, const Lines& lines, T* image) const {
    const std::int64_t columns = (lines.end - lines.begin) * g_.out[2], step = g_.stride[2] * g_.input.spatial[2];
    for_each_run(lines, [&](std::int64_t row, std::int64_t column, std::int64_t at, std::int64_t first, std::int64_t last) {
      const T* from = patches + row * columns + column;
      for (std::int64_t o = first; o < last; ++o) image[at + o * step] += from[o];
    });
  }

  /// Calls visit(position in `output`, position in a dense (outputs of a group, columns)) for every element of these lines.
  template <class F>
  void for_each_output(const Lines& lines, F&& visit) const {
    std::int64_t dense = 0;
    for (std::int64_t k = 0; k < g_.outputs_per_group(); ++k) {
      for (std::int64_t line = lines.begin; line < lines.end; ++line) {
        const std::int64_t at = k * g_.output.c + line / g_.out[1] * g_.output.spatial[0] + line % g_.out[1] * g_.output.spatial[1];
        for (std::int64_t o = 0; o < g_.out[2]; ++o) visit(at + o * g_.output.spatial[2], dense++);
      }
    }
  }

  void forward(const T* x, const T* w, const T* bias, T* y, T* scratch, int threads) const {
    const std::int64_t outputs = g_.outputs_per_group();
    parallel(threads, [&](int thread, int count) {
      const Space s = space_of(scratch, thread);
      const Range mine = share(g_.n * g_.groups * blocks_, thread, count);
      for (std::int64_t item = mine.begin; item < mine.end; ++item) {
        const std::int64_t group = item / blocks_ % g_.groups, image = item / blocks_ / g_.groups;
        const Lines lines = lines_of(item % blocks_);
        const std::int64_t columns = (lines.end - lines.begin) * g_.out[2];
        gather_patches(x + image * g_.input.n + group * g_.channels_per_group() * g_.input.c, lines, s.patches);
        gemm(Gemm<T>{.m = outputs,
                     .n = columns,
                     .k = rows_,
                     .a = w + group * outputs * rows_,
                     .a_row = rows_,
                     .b = s.patches,
                     .b_row = columns,
                     .c = s.values,
                     .c_row = columns,
                     .epilogue = {.row_bias = bias ? bias + group * outputs : nullptr, .relu = relu_}},
             s.gemm);
        T* to = y + image * g_.output.n + group * outputs * g_.output.c;
        for_each_output(lines, [&](std::int64_t at, std::int64_t dense) { to[at] = s.values[dense]; });
      }
    });
  }

  void backward_data(const T* dy, const T* w, T* dx, T* scratch, int threads) const {
    const std::int64_t outputs = g_.outputs_per_group(), channels = g_.channels_per_group();
    parallel(threads, [&](int thread, int count) {
      const Space s = space_of(scratch, thread);
      const Range mine = share(g_.n * g_.groups, thread, count);
      for (std::int64_t item = mine.begin; item < mine.end; ++item) {
        const std::int64_t group = item % g_.groups, image = item / g_.groups;
        T* to = dx + image * g_.input.n + group * channels * g_.input.c;
        clear(to);
        const T* from = dy + image * g_.output.n + group * outputs * g_.output.c;
        for (std::int64_t block = 0; block < blocks_; ++block) {
          const Lines lines = lines_of(block);
          const std::int64_t columns = (lines.end - lines.begin) * g_.out[2];
          for_each_output(lines, [&](std::int64_t at, std::int64_t dense) { s.values[dense] = from[at]; });
          gemm(Gemm<T>{.m = rows_,
                       .n = columns,
                       .k = outputs,
                       .a = w + group * outputs * rows_,
                       .a_row = 1,
                       .a_column = rows_,
                       .b = s.values,
                       .b_row = columns,
                       .c = s.patches,
                       .c_row = columns},
               s.gemm);
          scatter_patches(s.patches, lines, to);
        }
      }
    });
  }

  /// Zeros in the channels of one group of one image.
  void clear(T* image) const {
    for (std::int64_t c = 0; c < g_.channels_per_group(); ++c) {
      for (std::int64_t d = 0; d < g_.in[0]; ++d) {
        for (std::int64_t h = 0; h < g_.in[1]; ++h) {
          T* line = image + c * g_.input.c + d * g_.input.spatial[0] + h * g_.input.spatial[1];
          for (std::int64_t x = 0; x < g_.in[2]; ++x) line[x * g_.input.spatial[2]] = T(0);
        }
      }
    }
  }

  void backward_weight(const T* x, const T* dy, T* dw, T* dbias, T* scratch, int threads) const {
    const std::int64_t outputs = g_.outputs_per_group(), weights = g_.k * rows_;
    int taken = 1;
    parallel(threads, [&](int thread, int count) {
      if (thread == 0) taken = count;
      const Space s = space_of(scratch, thread);
      std::fill(s.partial, s.partial + weights + g_.k, T(0));
      const Range mine = share(g_.n * g_.groups * blocks_, thread, count);
      for (std::int64_t item = mine.begin; item < mine.end; ++item) {
        const std::int64_t group = item / blocks_ % g_.groups, image = item / blocks_ / g_.groups;
        const Lines lines = lines_of(item % blocks_);
        const std::int64_t columns = (lines.end - lines.begin) * g_.out[2];
        gather_patches(x + image * g_.input.n + group * g_.channels_per_group() * g_.input.c, lines, s.patches);
        const T* from = dy + image * g_.output.n + group * outputs * g_.output.c;
        for_each_output(lines, [&](std::int64_t at, std::int64_t dense) { s.values[dense] = from[at]; });
        gemm(Gemm<T>{.m = outputs,
                     .n = rows_,
                     .k = columns,
                     .a = s.values,
                     .a_row = columns,
                     .b = s.patches,
                     .b_row = 1,
                     .b_column = columns,
                     .c = s.gradient,
                     .c_row = rows_},
             s.gemm);
        T* sum = s.partial + group * outputs * rows_;
        for (std::int64_t i = 0; i < outputs * rows_; ++i) sum[i] += s.gradient[i];
        for (std::int64_t k = 0; k < outputs; ++k) {
          T total = 0;
          for (std::int64_t i = 0; i < columns; ++i) total += s.values[k * columns + i];
          s.partial[weights + group * outputs + k] += total;
        }
      }
    });
    // In the order of the threads, so that a thread count has one result.
    parallel(threads, [&](int thread, int count) {
      const Range mine = share(weights + g_.k, thread, count);
      for (std::int64_t i = mine.begin; i < mine.end; ++i) {
        T total = 0;
        for (int part = 0; part < taken; ++part) total += space_of(scratch, part).partial[i];
        if (i < weights) dw[i] = total;
        else if (dbias) dbias[i - weights] = total;
      }
    });
  }

  runtime::Convolution description_;
  bool bias_ = has_bias(description_), relu_ = has_relu(description_);
  Geometry g_;
  int most_threads_;
  std::int64_t rows_ = 0;  // rows of the matrix of patches: channels of a group x taps
  std::int64_t lines_ = 0, lines_per_block_ = 1, blocks_ = 0;
  std::int64_t patches_ = 0, values_ = 0, gradient_ = 0, partial_ = 0, gemm_ = 0;  // elements of scratch per thread
};

}  // namespace

std::unique_ptr<runtime::Call> make_patch_convolution(const runtime::Convolution& d) {
  if (d.dtype() == f64) return std::make_unique<PatchConvolution<double>>(d);
  return std::make_unique<PatchConvolution<float>>(d);
}

}  // namespace tegula::host
