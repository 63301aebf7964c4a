#include "tegula/ops/products/convolution_transforms.h"

#include <algorithm>

#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/ops/signal/fft.h"

namespace tegula::ops {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// matrix · x along an axis, row by row: sums and differences, which fuse.
Tensor times(const Matrix& matrix, const Tensor& x, int axis) {
  std::vector<Tensor> rows;
  for (const std::vector<double>& row : matrix) {
    Tensor sum;
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (row[k] == 0) continue;
      const Tensor element = select(x, axis, static_cast<std::int64_t>(k));
      const Tensor term = row[k] == 1 ? element : row[k] == -1 ? -element : element * row[k];
      sum = sum.defined() ? sum + term : term;
    }
    rows.push_back(sum);
  }
  return stack(rows, axis);
}
/// matrix · x · matrixᵀ of the axes.
Tensor both(const Matrix& matrix, const Tensor& x, int first, int second) { return times(matrix, times(matrix, x, first), second); }

/// x with zeros around its last two axes.
Tensor padded(const Tensor& x, const Dims& low, const Dims& high) {
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  for (int axis = 0; axis < 2; ++axis) widths[widths.size() - 2 + static_cast<std::size_t>(axis)] = {low[axis], high[axis]};
  return pad(x, widths);
}

/// Tensors of half precision compute in f32.
Tensor widened(const Tensor& x, const Line& where) { return is_half(x.dtype()) ? graph::cast(x, f32, where) : x; }

/// The least product of 2, 3 and 5 that is no less.
std::int64_t quick_size(std::int64_t n) {
  for (;; ++n) {
    std::int64_t rest = n;
    for (const std::int64_t factor : {2, 3, 5})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return n;
  }
}

}  // namespace

bool suits_winograd(const Window& window) {
  const auto all = [](const Dims& dims, std::int64_t value) {
    return std::ranges::all_of(dims, [=](std::int64_t d) { return d == value; });
  };
  return window.size.rank() == 2 && all(window.size, 3) && all(window.stride, 1) && all(window.dilation, 1);
}

Tensor winograd(const ConvolutionProblem& p, const Line& where) {
  static const Matrix kData{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
  static const Matrix kWindow{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  static const Matrix kResult{{1, 1, 1, 0}, {0, 1, -1, -1}};
  const Tensor x = widened(p.x, where), weight = widened(p.weight, where);
  const std::int64_t images = p.shape[0], filters = p.shape[1], height = p.shape[2], width = p.shape[3], channels = x.size(1);
  const std::int64_t down = (height + 1) / 2, across = (width + 1) / 2, pieces = images * down * across;
  Dims high = p.window.high;  // whole pieces
  high[0] += 2 * down - height, high[1] += 2 * across - width;
  const Tensor data = windows(padded(x, p.window.low, high), {-2, -1}, {4, 4}, {.stride = {2, 2}});  // (N, C, down, across, 4, 4)
  const Tensor v = reshape(permute(both(kData, data, 4, 5), {4, 5, 0, 2, 3, 1}), {16, pieces, channels});
  const Tensor u = reshape(permute(both(kWindow, weight, 2, 3), {2, 3, 1, 0}), {16, channels, filters});
  const Tensor products = reshape(matmul(v, u), {4, 4, images, down, across, filters});
  const Tensor results = permute(both(kResult, products, 0, 1), {2, 5, 3, 0, 4, 1});  // (N, O, down, 2, across, 2)
  const Tensor all = reshape(results, {images, filters, 2 * down, 2 * across});
  return graph::cast(slice(slice(all, 2, {0, height}), 3, {0, width}), p.x.dtype(), where);
}

Tensor by_fourier(const ConvolutionProblem& p, const Line& where) {
  const Tensor given = widened(p.x, where), window = widened(p.weight, where);
  const std::int64_t images = p.shape[0], filters = p.shape[1];
  Dims sizes{0, 0}, more = p.window.high, spread = Dims::filled(4, 1);
  Shape kernel = window.shape();
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t whole = given.size(2 + axis) + p.window.low[axis] + p.window.high[axis];
    sizes[axis] = quick_size(std::max<std::int64_t>(whole, 1));
    more[axis] += sizes[axis] - whole;
    spread[2 + axis] = p.window.dilation[axis];
    kernel[2 + axis] = sizes[axis];
  }
  const FourierOptions planes{.axes = {-2, -1}};
  const std::int64_t frequencies = sizes[0] * (sizes[1] / 2 + 1);
  // Products over the channels: (frequencies, images, channels) by (frequencies, channels, filters).
  const Tensor x = rfft(padded(given, p.window.low, more), planes);
  const Tensor w = rfft(embed(window, Dims::filled(4, 0), spread, kernel, 0, where), planes);
  const auto by_frequency = [&](const Tensor& t, bool images_first) {
    const Tensor flat = reshape(t, {t.size(0), t.size(1), frequencies});
    return images_first ? permute(flat, {2, 0, 1}) : permute(flat, {2, 1, 0});
  };
  const Tensor xr = by_frequency(real_part(x), true), xi = by_frequency(imaginary_part(x), true);
  const Tensor wr = by_frequency(real_part(w), false), wi = by_frequency(imaginary_part(w), false);
  // x times the conjugate of w: a correlation.
  const Tensor re = matmul(xr, wr) + matmul(xi, wi), im = matmul(xi, wr) - matmul(xr, wi);
  const auto by_image = [&](const Tensor& t) { return reshape(permute(t, {1, 2, 0}), {images, filters, sizes[0], sizes[1] / 2 + 1}); };
  const Tensor all = irfft(complex_of(by_image(re), by_image(im)), sizes[1], planes);
  return graph::cast(strided(all, Dims::filled(4, 0), {1, 1, p.window.stride[0], p.window.stride[1]}, p.shape, where), p.x.dtype(), where);
}

}  // namespace tegula::ops
