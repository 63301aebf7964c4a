// Operators that stand for several nodes: a norm with its weight and bias, a product or convolution with its bias. The last of the nodes is where they are found.

#include <algorithm>

#include "tegula/graph/autodiff/custom_op.h"
#include "tegula/onnx/out/convolution.h"
#include "tegula/onnx/out/words.h"

namespace tegula::onnx {
namespace {

constexpr int kNone = -1;

/// The nodes around the one that is written.
class Pattern {
 public:
  explicit Pattern(Site& site) : site_(site), graph_(site.graph()) {}

  bool write() {
    const std::string_view op = site_.node().op->class_name();
    if (op == "multiply_add") return norm(in(site_.index(), 0), in(site_.index(), 1), in(site_.index(), 2));
    if (op == "divide") return mean(in(site_.index(), 0), in(site_.index(), 1));
    if (op == "multiply") return norm(in(site_.index(), 0), in(site_.index(), 1), kNone);
    if (op != "add") return false;
    const int sum = site_.index(), first = in(sum, 0), second = in(sum, 1);
    return conv_with_bias(first, second) || gemm(first, second) || batch_norm(first, second) || norm(first, kNone, second);
  }

 private:
  bool is(int i, std::string_view op) const {
    const auto& node = graph_.node(i);
    if (node.kind != formats::StoredNode::Kind::Op) return false;
    return (CustomOp::of(*node.op) ? node.op->name() : node.op->class_name()) == op;
  }
  int in(int i, std::size_t k) const { return graph_.node(i).in[k]; }
  const Shape& shape(int i) const { return graph_.node(i).results[0].shape; }
  DType dtype(int i) const { return graph_.node(i).results[0].dtype; }
  std::string value(int i) { return graph_.value(i); }
  int below_expand(int i) const {
    while (is(i, "expand")) i = in(i, 0);
    return i;
  }
  /// The node of this shape that node i broadcasts, or kNone.
  int of_shape(int i, const Shape& wanted) const {
    if (i == kNone) return kNone;
    const int below = below_expand(i);
    return shape(below) == wanted ? below : kNone;
  }
  /// The vector (C) that node i broadcasts along axis 1, or kNone.
  int of_channels(int i, const Shape& like) const {
    if (i == kNone || like.rank() < 2) return kNone;
    const Shape wanted{like[1]};
    const int below = below_expand(i);
    if (like.rank() == 2) return shape(below) == wanted ? below : kNone;
    Shape lying = Dims::filled(like.rank() - 1, 1);
    lying[0] = like[1];
    const bool lies = is(below, "reshape") && shape(below) == lying && shape(in(below, 0)) == wanted;
    return lies ? in(below, 0) : kNone;
  }
  /// The value of a vector, or one filled with a number where there is none.
  std::string vector(int i, std::int64_t size, double otherwise) {
    return i == kNone ? site_.out().filled({size}, otherwise, site_.result().dtype) : value(i);
  }
  static Attribute epsilon(const Described& d) { return attribute("epsilon", static_cast<float>(d.real("eps"))); }

  /// A sum over the number of its elements.
  bool mean(int sum, int elements) {
    const auto number = graph_.number(elements);
    if (!number || !is(sum, "sum") || dtype(sum) == bf16 || !is_float(dtype(sum)) || dtype(in(sum, 0)) != dtype(sum)) return false;
    const auto axes = Described(graph_, sum).integers("axes");
    double count = 1;
    for (const std::int64_t axis : axes) count *= static_cast<double>(shape(in(sum, 0))[static_cast<int>(axis)]);
    if (axes.empty() || shape(sum) != shape(site_.index()) || number->real() != count) return false;
    site_.give(site_.out().reduce("ReduceMean", value(in(sum, 0)), axes));
    return true;
  }

  bool conv_with_bias(int y, int bias) {
    if (!is(y, "convolution")) return false;
    const int b = of_channels(bias, shape(y));
    if (b == kNone) return false;
    Site convolution(graph_, y);
    site_.give(conv(convolution, value(b)));
    return true;
  }

  bool gemm(int y, int bias) {
    if (!is(y, "matmul") || shape(y).rank() != 2 || !is_float(dtype(y))) return false;
    const int b = of_shape(bias, {shape(y)[1]});
    if (b == kNone) return false;
    std::vector<std::string> inputs;
    std::vector<Attribute> all;
    for (const auto& [k, name] : {std::pair(0u, "transA"), {1u, "transB"}}) {
      const int operand = in(y, k);
      const bool turned = is(operand, "permute");
      if (turned) all.push_back(attribute(name, std::int64_t{1}));
      inputs.push_back(value(turned ? in(operand, 0) : operand));
    }
    inputs.push_back(value(b));
    site_.give(site_.add("Gemm", std::move(inputs), std::move(all)));
    return true;
  }

  /// x * scale + shift, where scale is rsqrt(variance + eps) [* weight] and shift is -mean * scale [+ bias].
  bool batch_norm(int product, int shift) {
    if (!is(product, "multiply")) return false;
    const int x = in(product, 0);
    const Shape& like = shape(x);
    const int scale = of_channels(in(product, 1), like);
    int rest = of_channels(shift, like), weight = kNone, bias = kNone;
    if (scale == kNone || rest == kNone || like != shape(site_.index())) return false;
    int root = scale;
    if (is(root, "multiply")) weight = in(root, 1), root = in(root, 0);
    if (is(rest, "add")) bias = in(rest, 1), rest = in(rest, 0);
    if (!is(root, "rsqrt") || !is(in(root, 0), "add") || !is(rest, "multiply") || in(rest, 1) != scale || !is(in(rest, 0), "negate"))
      return false;
    const auto eps = graph_.number(in(in(root, 0), 1));
    if (!eps || !fits_attribute(dtype(x), eps->real())) return false;
    const int variance = in(in(root, 0), 0), mean = in(in(rest, 0), 0);
    site_.give(site_.add("BatchNormalization",
                         {value(x), vector(weight, like[1], 1), vector(bias, like[1], 0), value(mean), value(variance)},
                         {attribute("epsilon", static_cast<float>(eps->real()))}));
    return true;
  }

  /// The normalized values y, by weight and bias, of which one may be kNone.
  bool norm(int y, int weight, int bias) {
    if (is(y, "root_mean_square")) return bias == kNone && root_mean_square(y, weight);
    if (is(y, "reshape")) return group_norm(y, weight, bias);
    if (!is(y, "standardize")) return false;
    const Described d(graph_, y);
    const auto axes = d.integers("axes");
    const int x = in(y, 1), rank = shape(x).rank(), first = static_cast<int>(axes[0]);
    if (axes.back() + 1 != rank || first + std::ssize(axes) != rank || !fits_attribute(dtype(x), d.real("eps"))) return false;
    Shape rows;
    for (int axis = first; axis < rank; ++axis) rows.push_back(shape(x)[axis]);
    const int w = of_shape(weight, rows), b = of_shape(bias, rows);
    if ((w == kNone) == (weight == kNone) && (b == kNone) == (bias == kNone)) {
      std::vector<std::string> inputs{value(x), w == kNone ? site_.out().filled(rows, 1, dtype(x)) : value(w)};
      if (b != kNone) inputs.push_back(value(b));
      site_.give(site_.add("LayerNormalization", std::move(inputs), {attribute("axis", -std::ssize(axes)), epsilon(d)}));
      return true;
    }
    if (first != 2) return false;
    return of_channels_norm("InstanceNormalization", x, weight, bias, {epsilon(d)});
  }

  bool of_channels_norm(const char* type, int x, int weight, int bias, std::vector<Attribute> all) {
    const Shape& like = shape(x);
    const int w = of_channels(weight, like), b = of_channels(bias, like);
    if ((w == kNone) != (weight == kNone) || (b == kNone) != (bias == kNone)) return false;
    site_.give(site_.add(type, {value(x), vector(w, like[1], 1), vector(b, like[1], 0)}, std::move(all)));
    return true;
  }

  /// reshape(standardize(reshape(x (N, C, …), (N, G, …)))), from operator set 21 on, where a weight is of channels.
  bool group_norm(int y, int weight, int bias) {
    const int inner = in(y, 0);
    if (site_.opset() < 21 || !is(inner, "standardize") || !is(in(inner, 1), "reshape")) return false;
    const Described d(graph_, inner);
    const int grouped = in(inner, 1), x = in(grouped, 0);
    if (shape(x) != shape(y) || shape(grouped).rank() != 3 || d.integers("axes") != std::vector<std::int64_t>{2}) return false;
    if (shape(grouped)[0] != shape(x)[0] || !fits_attribute(dtype(x), d.real("eps"))) return false;
    return of_channels_norm("GroupNormalization", x, weight, bias, {epsilon(d), attribute("num_groups", shape(grouped)[1])});
  }

  bool root_mean_square(int y, int weight) {
    if (site_.opset() < 23) return false;
    const Described d(graph_, y);
    const auto axes = d.integers("axes");
    const int x = in(y, 1), rank = shape(x).rank();
    Shape rows;
    for (int axis = static_cast<int>(axes[0]); axis < rank; ++axis) rows.push_back(shape(x)[axis]);
    const int w = of_shape(weight, rows);
    if (w == kNone || axes[0] + std::ssize(axes) != rank || !fits_attribute(dtype(x), d.real("eps"))) return false;
    site_.give(site_.add("RMSNormalization", {value(x), value(w)}, {attribute("axis", -std::ssize(axes)), epsilon(d)}));
    return true;
  }

  Site& site_;
  GraphWriter& graph_;
};

}  // namespace

bool write_pattern(Site& site) { return Pattern(site).write(); }

}  // namespace tegula::onnx
