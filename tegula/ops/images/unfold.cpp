#include "tegula/ops/images/unfold.h"

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

Window window_of(std::string_view op, const Dims& input, const PerAxis& window, const UnfoldOptions& options, const Line& where) {
  return make_window(input, window.expand(2, 1, op, "window", where), options.stride, options.padding, options.dilation, op, where);
}

/// How many windows there are along each axis; throws where none fits.
Dims positions_of(std::string_view op, const Dims& input, const Window& window, const Line& where) {
  const Dims positions{window.output(0, input[0]), window.output(1, input[1])};
  if (numel(positions) == 0) {
    ops::refuse(op, "an image of " + to_string(input) + " and window " + to_string(window.size), "a window that fits into the padded image",
                where);
  }
  return positions;
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
  Tensor x = ops::channels_first(arg.tensor("unfold"), 2, options.layout, where);
  if (x.rank() != 3 && x.rank() != 4) {
    ops::refuse("unfold", "shape " + to_string(x.shape()), "(N, channels, height, width), or without the batch", where,
                "windows() takes any axes");
  }
  const bool batched = x.rank() == 4;
  if (!batched) x = with_batch(x, where);
  const Dims image = spatial(x.shape());
  const Window window = window_of("unfold", image, window_size, options, where);
  const Dims positions = positions_of("unfold", image, window, where);
  const Tensor padded = pad(x, {{}, {}, {window.low[0], window.high[0]}, {window.low[1], window.high[1]}});
  const Tensor seen = windows(padded, {2, 3}, window.size, {.stride = window.stride, .dilation = window.dilation});  // (N, C, h, w, kh, kw)
  const Tensor y =
      graph::reshape(permute(seen, {0, 1, 4, 5, 2, 3}), {x.shape()[0], x.shape()[1] * numel(window.size), numel(positions)}, where);
  return batched ? y : without_batch(y, where);
}

Tensor fold(Arg arg, const PerAxis& output, const PerAxis& window_size, const UnfoldOptions& options) {
  const In frame("fold", arg.loc);
  const auto& where = arg.loc;
  Tensor x = arg.tensor("fold");
  const Dims image = output.expand(2, 1, "fold", "output", where);
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
  x = graph::reshape(x, {x.shape()[0], channels, window.size[0], window.size[1], positions[0], positions[1]}, where);
  const auto reach = [&](int i) { return image[i] + window.low[i] + window.high[i]; };
  x = ops::overlaid(permute(x, {0, 1, 2, 4, 3, 5}), 4, window.stride[1], window.dilation[1], reach(1), where);  // (N, C, kh, h, W)
  x = ops::overlaid(x, 2, window.stride[0], window.dilation[0], reach(0), where);  // (N, C, H, W)
  const Tensor y = ops::strided(x, {0, 0, window.low[0], window.low[1]}, {1, 1, 1, 1}, {x.shape()[0], channels, image[0], image[1]}, where);
  return ops::channels_as(batched ? y : without_batch(y, where), 2, options.layout, where);
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
  add("pixel_shuffle", {2, 18, 3, 5}, {{{9, 2, 2}}, {{2, 1, 9, 1, 3}}}, [](const Tensor& x) { return pixel_shuffle(x, 3); }, kEverything);
  add("pixel_unshuffle", {2, 3, 6, 4}, {{{1, 2, 2}}}, [](const Tensor& x) { return pixel_unshuffle(x, 2); }, kEverything);
  return cases;
}

}  // namespace tegula
