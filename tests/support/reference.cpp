#include "tests/support/reference.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tegula/core/error.h"
#include "tegula/graph/structural.h"
#include "tegula/tile/ir.h"

namespace tegula {
namespace {

using Values = std::vector<double>;

/// Offsets of the elements of a layout, row-major.
std::vector<std::int64_t> offsets_of(const Layout& layout) {
  std::vector<std::int64_t> out;
  const std::int64_t count = numel(layout.shape);
  out.reserve(static_cast<std::size_t>(count));
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n, offset = layout.offset;
    for (int d = layout.shape.rank() - 1; d >= 0; --d) {
      offset += rest % layout.shape[d] * layout.strides[d];
      rest /= layout.shape[d];
    }
    out.push_back(offset);
  }
  return out;
}

/// What an element of an integer or boolean dtype can hold; floats keep all their digits.
double stored(double value, DType dtype) {
  if (is_float(dtype)) return value;
  if (dtype == boolean) return value != 0;
  if (std::isnan(value)) return 0;
  return visit(dtype, [&](auto zero) -> double {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return static_cast<double>(static_cast<T>(static_cast<std::int64_t>(value)));
    else return value;
  });
}

double combine(tile::Reduction kind, double a, double b) {
  using tile::Reduction;
  switch (kind) {
    case Reduction::Sum: return a + b;
    case Reduction::Prod: return a * b;
    case Reduction::Min: return std::isnan(a) || a < b ? a : b;
    case Reduction::Max: return std::isnan(a) || a > b ? a : b;
    case Reduction::Any: return a != 0 || b != 0;
    default: return a != 0 && b != 0;
  }
}

double initial(tile::Reduction kind) {
  using tile::Reduction;
  switch (kind) {
    case Reduction::Prod:
    case Reduction::All: return 1;
    case Reduction::Min: return HUGE_VAL;
    case Reduction::Max: return -HUGE_VAL;
    default: return 0;
  }
}

class Interpreter {
 public:
  const Values& run(const Node* root) {
    std::vector<const Node*> stack{root};
    while (!stack.empty()) {
      const Node* node = stack.back();
      bool ready = true;
      for (const auto& input : node->inputs()) {
        if (known_.contains(input.get())) continue;
        stack.push_back(input.get());
        ready = false;
      }
      if (!ready) continue;
      stack.pop_back();
      if (!known_.contains(node)) known_[node] = compute(*node);
    }
    return known_.at(root);
  }

 private:
  const Values& input(const Node& node, std::size_t i) const { return known_.at(node.inputs()[i].get()); }

  Values compute(const Node& node) const {
    switch (node.forgotten() ? Role::Leaf : node.op().role()) {
      case Role::Leaf: return Tensor(Ref<Node>(const_cast<Node*>(&node))).to_host<double>();
      case Role::Scalar: return {static_cast<const ScalarOp&>(node.op()).value()};
      case Role::Index: {
        Values out;
        for (auto offset : offsets_of(static_cast<const IndexOp&>(node.op()).layout())) out.push_back(static_cast<double>(offset));
        return out;
      }
      case Role::Elementwise: return elementwise(node);
      case Role::View: return view(node);
      case Role::Reduce: return reduce(node);
      case Role::Library: return loops(node, static_cast<const LibraryOp&>(node.op()));
      default: return loops(node, static_cast<const KernelOp&>(node.op()));
    }
  }

  Values elementwise(const Node& node) const {
    const auto& op = static_cast<const ElementwiseOp&>(node.op());
    Values out(static_cast<std::size_t>(numel(node.shape()))), x(node.inputs().size());
    for (std::size_t n = 0; n < out.size(); ++n) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = input(node, i)[node.input(static_cast<int>(i)).shape().rank() == 0 ? 0 : n];
      out[n] = stored(op.reference(x), node.dtype());
    }
    return out;
  }

  Values view(const Node& node) const {
    const auto layout = static_cast<const ViewOp&>(node.op()).apply(Layout::dense(node.input(0).shape()));
    if (!layout)
      throw Error({.op = "reference",
                   .got = "a view that refuses a dense layout: " + std::string(node.op().name()),
                   .expected = "one that takes it"});
    Values out;
    for (auto offset : offsets_of(*layout)) out.push_back(input(node, 0)[static_cast<std::size_t>(offset)]);
    return out;
  }

  Values reduce(const Node& node) const {
    const auto& op = static_cast<const ReduceOp&>(node.op());
    const Shape& from = node.input(0).shape();
    Layout target{from, Dims::filled(from.rank(), 0), 0};  // where each input element is added
    std::int64_t stride = 1;
    for (int d = from.rank() - 1; d >= 0; --d) {
      if (op.axes().contains(d)) continue;
      target.strides[d] = stride;
      stride *= from[d];
    }
    Values out(static_cast<std::size_t>(numel(node.shape())), initial(op.kind()));
    const auto places = offsets_of(target);
    for (std::size_t n = 0; n < places.size(); ++n) {
      double& sum = out[static_cast<std::size_t>(places[n])];
      sum = combine(op.kind(), sum, input(node, 0)[n]);
    }
    for (double& value : out) value = stored(value, node.dtype());
    return out;
  }

  template <class O>
  Values loops(const Node& node, const O& op) const {
    std::vector<std::span<const double>> x;
    std::vector<Shape> shapes;
    for (const auto& in : node.inputs()) {
      x.emplace_back(known_.at(in.get()));
      shapes.push_back(in->shape());
    }
    Values out(static_cast<std::size_t>(numel(node.shape())));
    op.reference(x, shapes, out, node.shape());
    return out;
  }

  std::unordered_map<const Node*, Values> known_;
};

}  // namespace

std::vector<double> reference_of(const Tensor& y) { return Interpreter().run(y.node().get()); }

}  // namespace tegula
