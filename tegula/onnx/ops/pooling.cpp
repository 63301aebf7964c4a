// Pooling, by the library's ops.

#include <algorithm>

#include "tegula/onnx/ops/common.h"
#include "tegula/onnx/ops/window.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/images/unpool.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// The tensor and the windows that the library's poolings take: what negative pads take away is gone.
struct Pooled {
  Tensor x;
  Dims size;
  MaxPoolOptions options;
  Dims begin = {};  // of x in the tensor that the node has
};

NodeWindow node_window(const Call& call, const Tensor& x) {
  if (x.rank() < 3 || x.rank() > 5) call.refuse("shape " + to_string(x.shape()), "(N, C, spatial…) with one to three spatial axes");
  const NodeWindow out = window_of(call, x.shape(), kernel_shape(call, x.rank() - 2));
  for (int i = 0; i < out.axes(); ++i)
    if (positions(out, i, x.size(i + 2), call.flag("ceil_mode")) < 1)
      call.refuse("shape " + to_string(x.shape()) + " with windows " + to_string(out.size), "windows that lie inside");
  return out;
}

Pooled pooled_of(const Call& call) {
  const Tensor x = call[0];
  NodeWindow window = node_window(call, x), less = window;
  Dims begin;
  for (int i = 0; i < window.axes(); ++i) {
    less.low[i] = std::min<std::int64_t>(window.low[i], 0), less.high[i] = std::min<std::int64_t>(window.high[i], 0);
    window.low[i] -= less.low[i], window.high[i] -= less.high[i];
    begin.push_back(-less.low[i]);
  }
  return {padded(x, less),
          window.size,
          {.stride = window.stride,
           .padding = Padding::sides(window.low, window.high),
           .dilation = window.dilation,
           .ceil_mode = call.flag("ceil_mode")},
          begin};
}

/// The function for as many spatial axes as x has.
template <class F>
F* of_axes(const Tensor& x, F* one, F* two, F* three) {
  return x.rank() == 3 ? one : x.rank() == 4 ? two : three;
}

/// Places in a plane of what pads have left of x (N, C, spatial…), as places in all of x: row-major, or with the spatial axes in the opposite order.
Tensor in_whole(const Tensor& places, const Pooled& pooled, const Shape& x, bool is_column_major) {
  Dims steps = Dims::filled(x.rank(), 1);
  for (int i = 3; i < x.rank(); ++i) {
    const int axis = is_column_major ? i : x.rank() + 1 - i, before = is_column_major ? axis - 1 : axis + 1;
    steps[axis] = steps[before] * x[before];
  }
  const std::int64_t plane = numel(x, 2, x.rank());
  Tensor place = (iota(places.shape(), 0) * x[1] + iota(places.shape(), 1)) * plane, rest = places;
  for (int axis = x.rank() - 1; axis >= 2; --axis) {
    const std::int64_t size = pooled.x.size(axis);
    place = place + (remainder(rest, size) + pooled.begin[axis - 2]) * steps[axis];
    rest = floor_divide(rest, size);
  }
  return place;
}

Results greatest(const Call& call) {
  const Pooled pooled = pooled_of(call);
  const Tensor& x = pooled.x;
  if (!call.wants(1)) return of_axes(x, max_pool1d, max_pool2d, max_pool3d)(x, pooled.size, pooled.options);
  const auto [values, places] =
      of_axes(x, max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices)(x, pooled.size, pooled.options);
  return std::vector<Tensor>{values, in_whole(places, pooled, call[0].shape(), call.flag("storage_order"))};
}

Tensor mean_of_windows(const Pooled& pooled, bool counts_pads) {
  const AveragePoolOptions options{.stride = pooled.options.stride,
                                   .padding = pooled.options.padding,
                                   .dilation = pooled.options.dilation,
                                   .ceil_mode = pooled.options.ceil_mode,
                                   .count_include_pad = counts_pads};
  return of_axes(pooled.x, avg_pool1d, avg_pool2d, avg_pool3d)(pooled.x, pooled.size, options);
}

/// (Σ |x|^p)^(1/p).
Tensor root_of_powers(const Tensor& x, double p, const Axes& axes, Keep keep) { return pow(sum(pow(abs(x), p), axes, keep), 1 / p); }

/// The same of windows, which count their pads: a mean times the elements of a window, over an x that ends with the last of them.
Results root_of_windows(const Call& call, double p) {
  NodeWindow window = node_window(call, call[0]);
  for (int i = 0; i < window.axes(); ++i) {
    const std::int64_t size = call[0].size(i + 2), count = positions(window, i, size, call.flag("ceil_mode"));
    window.high[i] = (count - 1) * window.stride[i] + window.reach(i) - size - window.low[i];
  }
  const Pooled whole{padded(pow(abs(call[0]), p), window), window.size, {.stride = window.stride, .dilation = window.dilation}};
  return pow(mean_of_windows(whole, true) * static_cast<double>(numel(window.size)), 1 / p);
}

double power_of(const Call& call) {
  const Attribute* p = call.node().find("p");  // a float before operator set 2
  return p && p->kind == Attribute::Kind::Float ? static_cast<double>(p->number) : static_cast<double>(call.integer("p", 2));
}

Axes spatial_axes(const Tensor& x) {
  Dims axes;
  for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

/// The inverse of a max pooling with places: each value at its place, 0 elsewhere.
Results unpooled(const Call& call) {
  const Tensor x = call[0];
  if (x.rank() < 3 || x.rank() > 5) call.refuse("shape " + to_string(x.shape()), "(N, C, spatial…) with one to three spatial axes");
  const NodeWindow window = window_of(call, x.shape(), kernel_shape(call, x.rank() - 2));
  Shape shape = x.shape();
  for (int i = 0; i < window.axes(); ++i)
    shape[i + 2] = (x.size(i + 2) - 1) * window.stride[i] + window.size[i] - window.low[i] - window.high[i];
  const Shape wanted = call.has(2) ? shape_of(call, call.integers(2)) : shape;
  const Tensor flat = scatter(zeros({numel(shape)}, x.dtype()), 0, reshape(cast(call[1], i64), {-1}), reshape(x, {-1}));
  if (wanted.rank() != shape.rank()) call.refuse("output_shape " + to_string(wanted), "as many axes as " + to_string(shape));
  std::vector<PadWidth> widths;
  for (int i = 0; i < shape.rank(); ++i) widths.push_back({0, wanted[i] - shape[i]});
  return pad(reshape(flat, shape), widths);
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"MaxPool", [](Call& c) -> Results { return greatest(c); }, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"AveragePool", [](Call& c) -> Results { return mean_of_windows(pooled_of(c), c.flag("count_include_pad")); }, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"LpPool", [](Call& c) -> Results { return root_of_windows(c, power_of(c)); }, "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"GlobalMaxPool", [](Call& c) -> Results { return max(c[0], spatial_axes(c[0]), Keep::Yes); }},
    {"GlobalAveragePool", [](Call& c) -> Results { return mean(c[0], spatial_axes(c[0]), Keep::Yes); }},
    {"GlobalLpPool", [](Call& c) -> Results { return root_of_powers(c[0], power_of(c), spatial_axes(c[0]), Keep::Yes); }, "p"},
    {"MaxUnpool", [](Call& c) -> Results { return unpooled(c); }, "kernel_shape pads strides", looked({2})},
};
// clang-format on

}  // namespace

Operators pooling_operators() { return kOperators; }

}  // namespace tegula::onnx
