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

  bool fits(std::int64_t most) const {
    for (std::size_t i = 0; i < low.size(); ++i)
      if (low[i] < 0 || high[i] < 0 || (most >= 0 && std::max(low[i], high[i]) >= size[i])) return false;
    return true;
  }
  std::string padded(Site& site, const std::string& x, double value, std::int64_t most) {
    if (fits(most)) return x;
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
  // Elements that a stride leaves over at the end would be further taps.
  Integers starts, ends, axes;
  for (int axis = 2; axis < site.rank(); ++axis) { starts.push_back(0), ends.push_back(site.result().shape[axis]), axes.push_back(axis); }
  site.give(site.add("Slice", {y, out.integers(starts), out.integers(ends), out.integers(axes)}));
}

bool is_pool_dtype(DType dtype) { return dtype == f32 || dtype == f64 || dtype == f16; }

/// The values, and the places that somebody reads.
std::vector<std::string> pool_of(Site& site, std::string x, const char* type, std::vector<Attribute> more, double outside) {
  WindowOf window(site.described());
  const DType has = site.result().dtype, computed = is_pool_dtype(has) ? has : f32;
  if (!is_float(has)) site.refuse("of " + std::string(name(has)));
  if (has != computed) x = site.out().cast(x, computed);
  const bool wants_places = site.node().results.size() > 1 && site.graph().is_read(site.index(), 1);
  const std::string whole = window.padded(site, x, outside, 0);
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
  return results;
}

void pool(Site& site, const char* type, std::vector<Attribute> more, double outside) {
  std::vector<std::string> results = pool_of(site, site.in(0), type, std::move(more), outside);
  // In place of the taps lie the places in the whole tensor: max_pool_indices reads them. Gradients, which read taps, are refused.
  if (site.node().results.size() > results.size()) results.emplace_back();
  site.give(std::move(results));
}

/// Places in the plane of a channel, from those in the whole tensor. If pads were made before (WindowOf::padded), the plane is the padded one.
void max_pool_indices(Site& site) {
  NodeList& out = site.out();
  const Described d = site.described();
  const WindowOf window(d);
  if (window.fits(0)) return site.give(site.add("Mod", {site.in(1), out.sizes(d.sizes("plane"))}));
  const Integers sizes = d.integers("sizes");
  Integers wide = sizes;
  std::int64_t padded_plane = 1, step = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) wide[i] += window.low[i] + window.high[i], padded_plane *= wide[i];
  std::string rest = site.add("Mod", {site.in(1), out.integer(padded_plane)}), place = out.integer(0),
              is_inside = out.number(true, boolean);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const std::string at = site.add("Sub", {site.add("Mod", {rest, out.integer(wide[i])}), out.integer(window.low[i])});
    rest = site.add("Div", {rest, out.integer(wide[i])});
    is_inside = site.add(
        "And",
        {is_inside, site.add("And", {site.add("GreaterOrEqual", {at, out.integer(0)}), site.add("Less", {at, out.integer(sizes[i])})})});
    place = site.add("Add", {place, site.add("Mul", {at, out.integer(step)})});
    step *= sizes[i];
  }
  site.give(site.add("Where", {is_inside, place, out.integer(-1)}));
}

void max_pool(Site& site) { pool(site, "MaxPool", {}, -std::numeric_limits<double>::infinity()); }

void avg_pool(Site& site) {
  const Described d = site.described();
  const bool counts = d.flag("counts_padding");
  if (counts || WindowOf(d).fits(0)) return pool(site, "AveragePool", {attribute("count_include_pad", std::int64_t{counts})}, 0);
  // Pads that are made before count. The mean with them is divided by the share of the window that is inside; a window without one has the mean 0.
  NodeList& out = site.out();
  const DType dtype = site.result().dtype;
  Sizes plane = site.input_sizes(0);
  plane[0] = plane[1] = 1;
  const std::string ones = site.add("Expand", {out.number(1, dtype), out.sizes(plane)});
  const auto mean = [&](const std::string& x) {
    return pool_of(site, x, "AveragePool", {attribute("count_include_pad", std::int64_t{1})}, 0)[0];
  };
  double elements = 1;
  for (const std::int64_t size : d.integers("window")) elements *= static_cast<double>(size);
  const std::string share = site.add("Max", {mean(ones), out.number(1 / elements, dtype)});
  site.give(site.add("Div", {mean(site.in(0)), share}));
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
