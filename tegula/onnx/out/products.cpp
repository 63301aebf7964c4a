// Products, convolutions, poolings.

#include <algorithm>
#include <limits>

#include "tegula/onnx/out/convolution.h"
#include "tegula/onnx/out/words.h"

namespace tegula::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

void matmul(Site& site) {
  const DType has = site.result().dtype;
  const DType computed = is_float(has) || size_of(has) >= 4 ? has : is_unsigned(has) ? u32 : i32;
  const auto operand = [&](std::size_t i) { return has == computed ? site.in(i) : site.out().cast(site.in(i), computed); };
  const std::string y = site.add("MatMul", {operand(0), operand(1)});
  site.give(has == computed ? y : site.out().cast(y, has));
}

Integers joined(const Integers& low, const Integers& high) {
  Integers out = low;
  out.insert(out.end(), high.begin(), high.end());
  return out;
}

/// A window over spatial axes, with the pads that operators take: those of less than 0, or of a whole window, are made before.
struct WindowOf {
  Integers size, stride, dilation, low, high;
  explicit WindowOf(const Described& d)
      : size(d.integers("window")),
        stride(d.integers("stride")),
        dilation(d.integers("dilation")),
        low(d.integers("low")),
        high(d.integers("high")) {}

  std::string padded(Site& site, const std::string& x, double value, std::int64_t most) {
    bool fits = true;
    for (std::size_t i = 0; i < low.size(); ++i)
      fits = fits && low[i] >= 0 && high[i] >= 0 && (most < 0 || (low[i] < size[i] && high[i] < size[i]));
    if (fits) return x;
    Integers before{0, 0}, behind{0, 0};
    before.insert(before.end(), low.begin(), low.end());
    behind.insert(behind.end(), high.begin(), high.end());
    std::ranges::fill(low, 0);
    std::ranges::fill(high, 0);
    return site.add("Pad", {x, site.out().integers(joined(before, behind)), site.out().number(value, site.result().dtype)});
  }
  std::vector<Attribute> attributes() const {
    return {attribute("strides", stride), attribute("dilations", dilation), attribute("pads", joined(low, high))};
  }
};

void convolution(Site& site) { site.give(conv(site, "")); }

/// The gradient of a convolution's input, a transposed convolution.
void transposed_convolution(Site& site) {
  const Described d = site.described();
  WindowOf window(d);
  const Shape &y = site.input(0).shape, &weight = site.input(1).shape, &x = site.result().shape;
  Integers more;
  for (std::size_t i = 0; i < window.stride.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const std::int64_t least =
        (y[axis] - 1) * window.stride[i] + (weight[axis] - 1) * window.dilation[i] + 1 - window.low[i] - window.high[i];
    more.push_back(x[axis] - least);
    if (more[i] < 0 || more[i] >= std::max(window.stride[i], window.dilation[i]) || window.low[i] < 0 || window.high[i] < 0)
      site.refuse("to an input of another size than a transposed convolution has");
  }
  std::vector<Attribute> all = window.attributes();
  all.push_back(attribute("group", d.integer("groups")));
  all.push_back(attribute("output_padding", more));
  site.give(site.add("ConvTranspose", {site.in(0), site.in(1)}, std::move(all)));
}

/// The gradient of a weight: the convolution of x with that of y, batch and channels exchanged, steps and dilations too.
void weight_gradient(Site& site) {
  const Described d = site.described();
  WindowOf window(d);
  if (d.integer("groups") != 1) site.refuse("of several groups");
  std::swap(window.stride, window.dilation);
  window.size.clear();
  Integers order{1, 0};
  for (int axis = 2; axis < site.rank(); ++axis) order.push_back(axis);
  NodeList& out = site.out();
  std::string y = site.add("Conv", {out.transpose(window.padded(site, site.in(0), 0, -1), order), out.transpose(site.in(1), order)},
                           window.attributes());
  y = out.transpose(y, order);
  // What a stride leaves over at the end would be further taps.
  Integers starts, ends, axes;
  for (int axis = 2; axis < site.rank(); ++axis) { starts.push_back(0), ends.push_back(site.result().shape[axis]), axes.push_back(axis); }
  site.give(site.add("Slice", {y, out.integers(starts), out.integers(ends), out.integers(axes)}));
}

bool is_pool_dtype(DType dtype) { return dtype == f32 || dtype == f64 || dtype == f16; }

void pool(Site& site, const char* type, std::vector<Attribute> more, double outside) {
  WindowOf window(site.described());
  const DType has = site.result().dtype, computed = is_pool_dtype(has) ? has : f32;
  if (!is_float(has)) site.refuse("of " + std::string(name(has)));
  std::string x = site.in(0);
  if (has != computed) x = site.out().cast(x, computed);
  const bool wants_places = site.node().results.size() > 1 && site.graph().is_read(site.index(), 1);
  const std::string whole = window.padded(site, x, outside, 0);
  if (wants_places && whole != x) site.refuse("with places, and pads that are as large as the window");
  std::vector<Attribute> all = window.attributes();
  if (std::string_view(type) == "AveragePool" && site.opset() < 19) {
    if (std::ranges::any_of(window.dilation, [](std::int64_t one) { return one != 1; }))
      site.refuse("with a dilation", ".opset = 19 has it");
    all.erase(all.begin() + 1);
  }
  all.push_back(attribute("kernel_shape", window.size));
  all.insert(all.end(), more.begin(), more.end());
  std::vector<std::string> results = site.out().add_several(type, {whole}, std::move(all), wants_places ? 2 : 1);
  if (has != computed) results[0] = site.out().cast(results[0], has);
  // In place of the taps lie the places in the whole tensor: max_pool_indices reads them. Gradients, which read taps, are refused.
  if (site.node().results.size() > results.size()) results.emplace_back();
  site.give(std::move(results));
}

/// Places in the plane of a channel, of those in the whole tensor.
void max_pool_indices(Site& site) { site.give(site.add("Mod", {site.in(1), site.out().sizes(site.described().sizes("plane"))})); }

void max_pool(Site& site) { pool(site, "MaxPool", {}, -std::numeric_limits<double>::infinity()); }

void avg_pool(Site& site) {
  const Described d = site.described();
  const WindowOf window(d);
  const bool counts = d.flag("counts_padding");
  bool far = false;
  for (std::size_t i = 0; i < window.low.size(); ++i)
    far = far || std::max(window.low[i], window.high[i]) >= window.size[i] || std::min(window.low[i], window.high[i]) < 0;
  if (far && !counts) site.refuse("with pads that are as large as the window");
  pool(site, "AveragePool", {attribute("count_include_pad", std::int64_t{counts})}, 0);
}

constexpr Word kWords[] = {
    {"matmul", matmul},
    {"convolution", convolution},
    {"convolution_backward_data", transposed_convolution},
    {"convolution_backward_weight", weight_gradient},
    {"max_pool", max_pool},
    {"avg_pool", avg_pool},
    {"max_pool_indices", max_pool_indices, true},
};

}  // namespace

std::string conv(Site& site, const std::string& bias) {
  const Described d = site.described();
  WindowOf window(d);
  const std::string x = window.padded(site, site.in(0), 0, -1);
  std::vector<Attribute> all = window.attributes();
  all.push_back(attribute("group", d.integer("groups")));
  std::vector<std::string> inputs{x, site.in(1)};
  if (!bias.empty()) inputs.push_back(bias);
  return site.add("Conv", std::move(inputs), std::move(all));
}

WordList product_words() { return kWords; }

}  // namespace tegula::onnx
