// Pooling. By the library's ops where they have it; where windows are dilated, padded beyond half of them, of integers, or asked for places, by a view of all windows.

#include <limits>

#include "tegula/onnx/ops/common.h"
#include "tegula/onnx/ops/window.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

struct Pooled {
  NodeWindow window;
  Dims out;  // positions
  bool ceil = false;
};

Pooled pooled_of(const Call& call, const Tensor& x) {
  if (x.rank() < 3 || x.rank() > 5) call.refuse("shape " + to_string(x.shape()), "(N, C, spatial…) with one to three spatial axes");
  Pooled out;
  out.window = window_of(call, x.shape(), kernel_shape(call, x.rank() - 2));
  out.ceil = call.flag("ceil_mode");
  for (int i = 0; i < out.window.axes(); ++i) {
    const std::int64_t count = positions(out.window, i, x.size(i + 2), out.ceil);
    if (count < 1) call.refuse("shape " + to_string(x.shape()) + " with windows " + to_string(out.window.size), "windows that lie inside");
    out.out.push_back(count);
  }
  return out;
}

/// (N, C, positions…, window elements): x with `value` around it.
Tensor all_windows(const Tensor& x, const Pooled& pooled, Number value) {
  NodeWindow around = pooled.window;
  Dims axes;
  for (int i = 0; i < around.axes(); ++i) {
    axes.push_back(i + 2);
    around.high[i] = (pooled.out[i] - 1) * around.stride[i] + around.reach(i) - x.size(i + 2) - around.low[i];
  }
  const Tensor view =
      windows(padded(x, around, {.value = value}), axes, around.size, {.stride = around.stride, .dilation = around.dilation});
  return flatten(view, 2 + around.axes(), -1);
}

Number lowest_of(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  return visit(dtype, [](auto zero) -> Number {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::lowest();
    else return 0;
  });
}

/// The place of each element in the whole tensor, row-major, or with the last two axes exchanged.
Tensor numbered(const Shape& shape, bool is_column_major) {
  if (!is_column_major) return reshape(arange(numel(shape)), shape);
  Tensor out = zeros(shape, i64);
  std::int64_t stride = 1;
  for (int i = 2; i < shape.rank(); ++i) {
    out = out + iota(shape, i) * stride;
    stride *= shape[i];
  }
  out = out + iota(shape, 1) * stride;
  return out + iota(shape, 0) * (stride * shape[1]);
}

Results greatest(const Call& call) {
  const Tensor x = call[0];
  const Pooled pooled = pooled_of(call, x);
  const NodeWindow& w = pooled.window;
  if (!call.wants(1) && is_float(x.dtype()) && !w.is_padded_beyond_half() && !w.has_negative_pads()) {
    const MaxPoolOptions options{
        .stride = w.stride, .padding = Padding::sides(w.low, w.high), .dilation = w.dilation, .ceil_mode = pooled.ceil};
    if (x.rank() == 3) return max_pool1d(x, w.size, options);
    return x.rank() == 4 ? max_pool2d(x, w.size, options) : max_pool3d(x, w.size, options);
  }
  const Tensor view = all_windows(x, pooled, lowest_of(x.dtype()));
  if (!call.wants(1)) return max(view, -1);
  const Tensor best = argmax(view, -1, Keep::Yes);
  const auto chosen = [&](const Tensor& all) { return squeeze(gather(all, all.rank() - 1, best), -1); };
  const Tensor place = chosen(all_windows(numbered(x.shape(), call.flag("storage_order")), pooled, 0));
  return std::vector<Tensor>{chosen(view), place};
}

/// Ones where x is, and in the pads that the node counts; what ceil_mode adds counts never.
Tensor counts(const Tensor& x, const Pooled& pooled, bool with_pads) {
  Shape shape = x.shape();
  shape[0] = shape[1] = 1;
  Tensor inside = ones(shape, x.dtype());
  Pooled rest = pooled;
  if (with_pads) {
    inside = padded(inside, pooled.window, {.value = 1});
    rest.window.low = rest.window.high = Dims::filled(pooled.window.axes(), 0);
  }
  return sum(all_windows(inside, rest, 0), -1);
}

Results average(const Call& call) {
  const Tensor x = call[0];
  const Pooled pooled = pooled_of(call, x);
  const NodeWindow& w = pooled.window;
  const bool with_pads = call.flag("count_include_pad");
  if (!w.is_dilated() && !w.is_padded_beyond_half() && !w.has_negative_pads()) {
    const AveragePoolOptions options{
        .stride = w.stride, .padding = Padding::sides(w.low, w.high), .ceil_mode = pooled.ceil, .count_include_pad = with_pads};
    if (x.rank() == 3) return avg_pool1d(x, w.size, options);
    return x.rank() == 4 ? avg_pool2d(x, w.size, options) : avg_pool3d(x, w.size, options);
  }
  return sum(all_windows(x, pooled, 0), -1) / counts(x, pooled, with_pads);
}

/// (Σ |x|^p)^(1/p).
Tensor root_of_powers(const Tensor& x, double p, const Axes& axes, Keep keep) { return pow(sum(pow(abs(x), p), axes, keep), 1 / p); }

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
    {"AveragePool", [](Call& c) -> Results { return average(c); }, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"LpPool", [](Call& c) -> Results { const Pooled p = pooled_of(c, c[0]); return root_of_powers(all_windows(c[0], p, 0), power_of(c), -1, Keep::No); }, "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"GlobalMaxPool", [](Call& c) -> Results { return max(c[0], spatial_axes(c[0]), Keep::Yes); }},
    {"GlobalAveragePool", [](Call& c) -> Results { return mean(c[0], spatial_axes(c[0]), Keep::Yes); }},
    {"GlobalLpPool", [](Call& c) -> Results { return root_of_powers(c[0], power_of(c), spatial_axes(c[0]), Keep::Yes); }, "p"},
    {"MaxUnpool", [](Call& c) -> Results { return unpooled(c); }, "kernel_shape pads strides", looked({2})},
};
// clang-format on

}  // namespace

Operators pooling_operators() { return kOperators; }

}  // namespace tegula::onnx
