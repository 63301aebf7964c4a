// Composites of rows: softmax and the norms.

#include <numeric>

#include "tegula/onnx/out/words.h"

namespace tegula::onnx {
namespace {

void softmax(Site& site) { site.give(site.add("Softmax", {site.in(1)}, {attribute("axis", site.described().integer("axis"))})); }
void log_softmax(Site& site) { site.give(site.add("LogSoftmax", {site.in(1)}, {attribute("axis", site.described().integer("axis"))})); }

std::string mean(Site& site, const std::string& x, const std::vector<std::int64_t>& axes) {
  return site.out().reduce("ReduceMean", x, axes, true);
}

/// x / sqrt(mean(of²) + eps).
std::string over_root(Site& site, const std::string& x, const std::vector<std::int64_t>& axes, double eps) {
  const std::string square = mean(site, site.add("Mul", {x, x}), axes);
  const std::string root = site.add("Sqrt", {site.add("Add", {square, site.out().number(eps, site.result().dtype)})});
  return site.add("Div", {x, root});
}

/// The last axes, if these are the axes, their sizes are known, and eps may be an attribute.
std::optional<Shape> last_axes(Site& site, const std::vector<std::int64_t>& axes, double eps) {
  if (!fits_attribute(site.result().dtype, eps)) return std::nullopt;
  Shape out;
  const Sizes sizes = site.result_sizes();
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<std::size_t>(axes[k]);
    if (axis != sizes.size() - axes.size() + k || !sizes[axis].is_constant()) return std::nullopt;
    out.push_back(sizes[axis].plus);
  }
  return out;
}

void standardize(Site& site) {
  const Described d = site.described();
  const auto axes = d.integers("axes");
  const double eps = d.real("eps");
  if (const auto shape = last_axes(site, axes, eps)) {
    const std::string ones = site.out().filled(*shape, 1, site.result().dtype);
    return site.give(site.add("LayerNormalization", {site.in(1), ones},
                              {attribute("axis", -std::ssize(axes)), attribute("epsilon", static_cast<float>(eps))}));
  }
  site.give(over_root(site, site.add("Sub", {site.in(1), mean(site, site.in(1), axes)}), axes, eps));
}

void root_mean_square(Site& site) {
  const Described d = site.described();
  const auto axes = d.integers("axes");
  const double eps = d.real("eps");
  const auto shape = site.opset() >= 23 ? last_axes(site, axes, eps) : std::nullopt;
  if (!shape) return site.give(over_root(site, site.in(1), axes, eps));
  const std::string ones = site.out().filled(*shape, 1, site.result().dtype);
  site.give(site.add("RMSNormalization", {site.in(1), ones},
                     {attribute("axis", -std::ssize(axes)), attribute("epsilon", static_cast<float>(eps))}));
}

constexpr Word kWords[] = {
    {"softmax", softmax, true},
    {"softmin", softmax, true},
    {"log_softmax", log_softmax, true},
    {"standardize", standardize, true},
    {"root_mean_square", root_mean_square, true},
};

}  // namespace

WordList normalization_words() { return kWords; }

}  // namespace tegula::onnx
