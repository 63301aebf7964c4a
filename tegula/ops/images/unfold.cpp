#include "tegula/ops/images/unfold.h"

#include <algorithm>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

constexpr int kMostSpatial = kMaxRank - 2;

/// The number of spatial axes: as the options say, or as many as one of the arguments has numbers, or two.
int spatial_axes(std::string_view op, const UnfoldOptions& options, std::initializer_list<PerAxis> given, const Line& where) {
  int axes = options.axes;
  for (const PerAxis& one : given)
    if (axes == 0 && one.count() > 1) axes = one.count();
  if (axes == 0) axes = 2;
  if (axes < 1 || axes > kMostSpatial)
    ops::refuse(op, std::to_string(axes) + " spatial axes", "1 to " + std::to_string(kMostSpatial), where);
  return axes;
}

Window window_of(std::string_view op, const Dims& input, const PerAxis& window, const UnfoldOptions& options, const Line& where) {
  const int axes = input.rank();
  return make_window(input, window.expand(axes, 1, op, "window", where), options.stride, options.padding, options.dilation, op, where);
}

/// The number of windows along each axis; throws if none fits.
Dims positions_of(std::string_view op, const Dims& input, const Window& window, const Line& where) {
  Dims positions;
  std::int64_t count = 1;
  bool is_counted = true;
  for (int i = 0; i < window.axes(); ++i) {
    positions.push_back(window.output(i, input[i]));
    is_counted = is_counted && !__builtin_mul_overflow(count, positions[i], &count);
  }
  if (!is_counted) ops::refuse(op, "windows at " + to_string(positions), "fewer than 2^60 positions", where);
  if (count == 0) {
    ops::refuse(op, "an image of " + to_string(input) + " and window " + to_string(window.size), "a window that fits into the padded image",
                where);
  }
  return positions;
}

/// (N, window elements and channels, positions of the axes before, …): tensors have too few axes for all windows of an image of many, which therefore are made
/// two axes at a time.
Tensor columns_of(Tensor x, const Window& window, const Dims& positions, const Line& where) {
  const int axes = window.axes();
  Shape whole = x.shape();
  std::int64_t outer = whole[1], before = 1;
  for (int i = 0; i < axes;) {
    const int count = std::min(2, axes - i);
    const std::int64_t behind = numel(whole, i + 2 + count, whole.rank());
    Shape split{whole[0], outer, before};
    Dims over, size, stride, dilation;
    for (int k = 0; k < count; ++k) {
      split.push_back(whole[i + 2 + k]), over.push_back(3 + k);
      size.push_back(window.size[i + k]), stride.push_back(window.stride[i + k]), dilation.push_back(window.dilation[i + k]);
    }
    split.push_back(behind);
    const Tensor seen = windows(graph::reshape(x, split, where), over, size, {.stride = stride, .dilation = dilation});
    Dims order{0, 1};  // (N, outer, before, positions…, behind, window…) with the window behind `outer`
    for (int k = 0; k < count; ++k) order.push_back(4 + count + k);
    for (int k = 0; k < 2 + count; ++k) order.push_back(2 + k);
    x = permute(seen, order);
    for (int k = 0; k < count; ++k, ++i) outer *= window.size[i], before *= positions[i];
  }
  return graph::reshape(x, {whole[0], outer, before}, where);
}

/// The adjoint, one axis at a time from the last one on: (N, C * window elements, positions) -> (N, C, padded image).
Tensor image_of(Tensor x, std::int64_t channels, const Window& window, const Dims& positions, const Dims& image, const Line& where) {
  const std::int64_t batch = x.shape()[0];
  std::int64_t outer = channels * numel(window.size), before = numel(positions), behind = 1;
  Shape whole{batch, channels};
  for (int i = 0; i < window.axes(); ++i) whole.push_back(image[i] + window.low[i] + window.high[i]);
  for (int i = window.axes() - 1; i >= 0; --i) {
    outer /= window.size[i], before /= positions[i];
    const Tensor apart = graph::reshape(x, {batch, outer, window.size[i], before, positions[i], behind}, where);
    x = ops::overlaid(permute(apart, {0, 1, 3, 2, 4, 5}), 3, window.stride[i], window.dilation[i], whole[i + 2], where);
    behind *= whole[i + 2];
  }
  return graph::reshape(x, whole, where);
}

/// (…, C, H, W) with the leading axes as one.
struct Planes {
  Tensor x;  // (N, C, H, W)
  Shape leading;
};
Planes planes_of(std::string_view op, const Arg& arg, std::int64_t r) {
  const Tensor x = arg.tensor(op);
  if (r < 1) ops::refuse(op, "r = " + std::to_string(r), "at least 1", arg.loc);
  if (x.rank() < 3) ops::refuse(op, "shape " + to_string(x.shape()), "(…, channels, height, width)", arg.loc);
  Planes planes;
  std::int64_t n = 1;
  for (int i = 0; i + 3 < x.rank(); ++i) planes.leading.push_back(x.shape()[i]), n *= x.shape()[i];
  const int c = x.rank() - 3;
  planes.x = graph::reshape(x, {n, x.shape()[c], x.shape()[c + 1], x.shape()[c + 2]}, arg.loc);
  return planes;
}
Tensor with_leading(const Tensor& x, Shape shape, const Shape& image, const Line& where) {
  for (const auto size : image) shape.push_back(size);
  return graph::reshape(x, shape, where);
}

}  // namespace

Tensor unfold(Arg arg, const PerAxis& window_size, const UnfoldOptions& options) {
  const In frame("unfold", arg.loc);
  const auto& where = arg.loc;
  const int axes = spatial_axes("unfold", options, {window_size}, where);
  Tensor x = ops::channels_first(arg.tensor("unfold"), axes, options.layout, where);
  if (x.rank() != axes + 1 && x.rank() != axes + 2) {
    ops::refuse("unfold", "shape " + to_string(x.shape()),
                axes == 2 ? "(N, channels, height, width), or without the batch"
                          : "(N, channels, " + std::to_string(axes) + " spatial axes), or without the batch",
                where, ".axes says how many axes are spatial");
  }
  const bool batched = x.rank() == axes + 2;
  if (!batched) x = with_batch(x, where);
  const Dims image = spatial(x.shape());
  const Window window = window_of("unfold", image, window_size, options, where);
  const Dims positions = positions_of("unfold", image, window, where);
  std::vector<PadWidth> widths(2);
  for (int i = 0; i < axes; ++i) widths.push_back({window.low[i], window.high[i]});
  const Tensor y = columns_of(pad(x, widths), window, positions, where);
  return batched ? y : without_batch(y, where);
}

Tensor fold(Arg arg, const PerAxis& output, const PerAxis& window_size, const UnfoldOptions& options) {
  const In frame("fold", arg.loc);
  const auto& where = arg.loc;
  const int axes = spatial_axes("fold", options, {output, window_size}, where);
  Tensor x = arg.tensor("fold");
  const Dims image = output.expand(axes, 1, "fold", "output", where);
  const Window window = window_of("fold", image, window_size, options, where);
  const Dims positions = positions_of("fold", image, window, where);
  const std::int64_t elements = numel(window.size);
  const bool batched = x.rank() == 3;
  if (x.rank() == 2) x = with_batch(x, where);
  if (x.rank() != 3 || x.shape()[1] % elements != 0 || x.shape()[2] != numel(positions)) {
    ops::refuse("fold", "shape " + to_string(arg.tensor("fold").shape()),
                "(N, channels * " + std::to_string(elements) + ", " + std::to_string(numel(positions)) + "), the " + to_string(positions) +
                    " windows " + to_string(window.size) + " of an image " + to_string(image),
                where);
  }
  const std::int64_t channels = x.shape()[1] / elements;
  x = image_of(x, channels, window, positions, image, where);
  Shape shape{x.shape()[0], channels};
  Dims begin{0, 0};
  for (int i = 0; i < axes; ++i) shape.push_back(image[i]), begin.push_back(window.low[i]);
  const Tensor y = ops::strided(x, begin, Dims::filled(axes + 2, 1), shape, where);
  return ops::channels_as(batched ? y : without_batch(y, where), axes, options.layout, where);
}

Tensor pixel_shuffle(Arg arg, std::int64_t r) {
  const In frame("pixel_shuffle", arg.loc);
  const auto [x, leading] = planes_of("pixel_shuffle", arg, r);
  const Shape& s = x.shape();
  if (s[1] % r != 0 || s[1] / r % r != 0) {
    ops::refuse("pixel_shuffle", std::to_string(s[1]) + " channels", "a multiple of r² = " + std::to_string(r) + "²", arg.loc);
  }
  const std::int64_t channels = s[1] / r / r;
  const Tensor parts = graph::reshape(x, {s[0], channels, r, r, s[2], s[3]}, arg.loc);
  return graph::distinct(with_leading(permute(parts, {0, 1, 4, 2, 5, 3}), leading, {channels, s[2] * r, s[3] * r}, arg.loc),
                         arg.tensor("pixel_shuffle"), arg.loc);
}

Tensor pixel_unshuffle(Arg arg, std::int64_t r) {
  const In frame("pixel_unshuffle", arg.loc);
  const auto [x, leading] = planes_of("pixel_unshuffle", arg, r);
  const Shape& s = x.shape();
  if (s[2] % r != 0 || s[3] % r != 0) {
    ops::refuse("pixel_unshuffle", "an image of (" + std::to_string(s[2]) + ", " + std::to_string(s[3]) + ")",
                "multiples of r = " + std::to_string(r), arg.loc);
  }
  const Tensor parts = graph::reshape(x, {s[0], s[1], s[2] / r, r, s[3] / r, r}, arg.loc);
  return graph::distinct(with_leading(permute(parts, {0, 1, 3, 5, 2, 4}), leading, {s[1] * r * r, s[2] / r, s[3] / r}, arg.loc),
                         arg.tensor("pixel_unshuffle"), arg.loc);
}

std::vector<OpCase> unfold_cases() {
  using Inputs = std::vector<Tensor>;
  std::vector<OpCase> cases;
  const auto add = [&](std::string op, const Shape& shape, std::vector<std::vector<Shape>> more,
                       std::function<Tensor(const Tensor&)> function, const std::vector<DType>& dtypes = kNumbers) {
    cases.push_back({.op = std::move(op),
                     .function = [=](const Inputs& x) { return function(x[0]); },
                     .inputs = {{shape}},
                     .dtypes = dtypes,
                     .more_shapes = std::move(more),
                     .tolerance = 64});
  };
  add("unfold", {2, 3, 5, 6}, {{{3, 5, 6}}, {{0, 3, 5, 6}}}, [](const Tensor& x) { return unfold(x, 2); }, kEverything);
  add("unfold", {2, 3, 7, 6}, {},
      [](const Tensor& x) { return unfold(x, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}); });
  add("fold", {2, 12, 20}, {{{12, 20}}, {{0, 12, 20}}}, [](const Tensor& x) { return fold(x, {5, 6}, 2); });
  add("fold", {2, 18, 16}, {},
      [](const Tensor& x) { return fold(x, {7, 6}, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}); });
  add("fold", {1, 8, 6}, {}, [](const Tensor& x) { return fold(x, {4, 6}, 2, {.stride = 2}); });
  add("unfold", {2, 3, 9}, {{{3, 9}}}, [](const Tensor& x) { return unfold(x, 4, {.stride = 2, .padding = 1, .axes = 1}); }, kEverything);
  add("unfold", {2, 3, 4, 5, 6}, {{{1, 4, 5, 3}}},
      [](const Tensor& x) { return unfold(x, {2, 3, 1}, {.stride = {2, 1, 2}, .padding = {1, 0, 1}, .dilation = {1, 2, 1}}); });
  add("unfold", {1, 2, 3, 2, 4, 3}, {}, [](const Tensor& x) { return unfold(x, 2, {.padding = {0, 1, 0, 0}, .axes = 4}); });
  add("fold", {2, 12, 5}, {{{4, 5}}}, [](const Tensor& x) { return fold(x, 10, 4, {.stride = 2, .padding = 1, .axes = 1}); });
  add("fold", {2, 12, 27}, {},
      [](const Tensor& x) { return fold(x, {4, 5, 6}, {2, 3, 1}, {.stride = {2, 1, 2}, .padding = {1, 1, 0}, .dilation = {1, 2, 1}}); });
  add("fold", {1, 32, 12}, {}, [](const Tensor& x) { return fold(x, {3, 2, 4, 3}, 2, {.padding = {0, 0, 0, 0}}); });
  add("pixel_shuffle", {2, 18, 3, 5}, {{{9, 2, 2}}, {{2, 1, 9, 1, 3}}}, [](const Tensor& x) { return pixel_shuffle(x, 3); }, kEverything);
  add("pixel_unshuffle", {2, 3, 6, 4}, {{{1, 2, 2}}}, [](const Tensor& x) { return pixel_unshuffle(x, 2); }, kEverything);
  return cases;
}

}  // namespace tegula
