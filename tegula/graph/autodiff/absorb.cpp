#include "tegula/graph/autodiff/absorb.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tegula/graph/graph_ops.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/tile/builder.h"

namespace tegula {
namespace {

/// (value, product, cotangents…) -> value, but 0 where the product is NaN and the cotangents are 0.
class AbsorbOp final : public ElementwiseOp {
 public:
  static const Ref<const Op>& instance() {
    static const Ref<const Op> op(new AbsorbOp);
    return op;
  }
  static Tensor make(const Tensor& value, const Tensor& product, std::span<const Tensor> cotangents) {
    std::vector<Tensor> inputs{value, product};
    inputs.insert(inputs.end(), cotangents.begin(), cotangents.end());
    return make_node(instance(), inputs, value.shape(), value.dtype(), product.node()->origin().where);
  }

  std::string_view name() const override { return "absorb"; }
  Zeros gradient_zeros() const override { return Zeros::AbsorbAll; }
  tile::Value emit(tile::Builder&, std::span<const tile::Value> x, DType) const override {
    tile::Value nothing = tile::unary(tile::Word::IsNan, x[1]);
    for (const tile::Value& cotangent : x.subspan(2)) nothing = nothing && cotangent == 0.0;
    return tile::select(nothing, tile::number(0, x[0]), x[0]);
  }
  double reference(std::span<const double> x) const override {
    const bool zeros = std::all_of(x.begin() + 2, x.end(), [](double cotangent) { return cotangent == 0; });
    return zeros && std::isnan(x[1]) ? 0 : x[0];
  }
  /// The condition is a constant, so all of the gradient is the value's.
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override {
    std::vector<Tensor> inputs, out(wanted.size());
    for (const auto& input : y.inputs()) inputs.emplace_back(input);
    if (wanted[0]) out[0] = make(dy, inputs[1], std::span(inputs).subspan(2));
    return out;
  }
};

/// The state of a node in the expressions that compute gradients.
struct Known {
  Tensor now;  // the node, over inputs that are absorbed
  bool cotangent = false;  // a linear function of the cotangents
  bool open = false;  // an elementwise one that is not absorbed itself, of `of`
  bool multiplies = false;  // for an open node: it multiplies by something that need not be finite
  bool ends = false;  // read by other than elementwise ops
  std::vector<Tensor> of = {};
};

bool is_number(const Node& node) {
  if (node.op().role() == Role::Scalar) return true;
  const bool seen = shows_input(node.op().role()) || &node.op() == cast_op().get();
  return seen && !node.inputs().empty() && is_number(node.input(0));
}

class Expressions {
 public:
  Expressions(const Node& y, std::span<const Tensor> dys) : before_(y.sequence()) {
    for (const Tensor& dy : dys) {
      if (!dy.defined()) continue;
      known_[dy.node().get()] = {.now = dy, .cotangent = true};
      before_ = std::max(before_, dy.node()->sequence());
    }
  }

  std::vector<Tensor> absorb(std::vector<Tensor> results) {
    collect(results);
    for (const Node* node : order_) {
      for (const auto& input : node->inputs()) {
        if (node->op().role() != Role::Elementwise && known_.contains(input.get())) known_[input.get()].ends = true;
      }
    }
    for (const Tensor& result : results) {
      if (result.defined() && known_.contains(result.node().get())) known_[result.node().get()].ends = true;
    }
    for (const Node* node : order_) visit(*node);
    for (Tensor& result : results) {
      if (!result.defined()) continue;
      if (const auto found = known_.find(result.node().get()); found != known_.end()) result = found->second.now;
    }
    return results;
  }

 private:
  /// The nodes that are new, in program order.
  void collect(const std::vector<Tensor>& results) {
    std::vector<const Node*> stack;
    for (const Tensor& result : results) {
      if (result.defined()) stack.push_back(result.node().get());
    }
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      if (node->sequence() <= before_ || known_.contains(node)) continue;
      known_[node].now = Tensor(Ref<Node>(const_cast<Node*>(node)));
      order_.push_back(node);
      for (const auto& input : node->inputs()) stack.push_back(input.get());
    }
    std::sort(order_.begin(), order_.end(), [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
  }

  void visit(const Node& node) {
    Known& own = known_[&node];
    std::vector<Tensor> inputs;
    bool changed = false;
    const std::size_t shown = shows_input(node.op().role()) ? std::max<std::size_t>(node.results().size(), 1) : node.inputs().size();
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Ref<Node>& input = node.inputs()[i];
      const auto found = known_.find(input.get());
      inputs.push_back(found == known_.end() ? Tensor(input) : found->second.now);
      changed = changed || inputs.back().node() != input;
      if (found != known_.end() && found->second.cotangent && i < shown) own.cotangent = true;
    }
    if (node.results().empty() && !is_float(node.dtype())) own.cotangent = false;  // a condition
    if (changed) own.now = copy_node(node, inputs);
    if (!own.cotangent || node.op().role() != Role::Elementwise || node.op_ref() == AbsorbOp::instance()) return;
    own.open = true;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto found = known_.find(node.inputs()[i].get());
      if (found == known_.end() || !found->second.cotangent) {
        own.multiplies = own.multiplies || (is_float(inputs[i].dtype()) && !is_number(*inputs[i].node()));
      } else if (found->second.open) {
        own.multiplies = own.multiplies || found->second.multiplies;
        for (const Tensor& from : found->second.of) add(own.of, from);
      } else {
        add(own.of, inputs[i]);
      }
    }
    if (!own.ends || !own.multiplies) return;
    own.now = absorbed(own.now, own.of);
    own.open = false;
  }

  static void add(std::vector<Tensor>& list, const Tensor& x) {
    const auto same = [&](const Tensor& other) { return other.node() == x.node(); };
    if (std::none_of(list.begin(), list.end(), same)) list.push_back(x);
  }

  std::uint64_t before_;
  std::unordered_map<const Node*, Known> known_;
  std::vector<const Node*> order_;
};

}  // namespace

void add_gradient_ops(OpTable& table) {
  table.add("absorb", [](Attributes& reader) {
    reader.require(reader.made_for()->inputs.size() >= 2, "in");
    return AbsorbOp::instance();
  });
}

Tensor absorbed(const Tensor& product, std::span<const Tensor> cotangents) { return AbsorbOp::make(product, product, cotangents); }

std::vector<Tensor> with_absorbed_products(const Node& y, std::span<const Tensor> dys, std::vector<Tensor> gradients) {
  return Expressions(y, dys).absorb(std::move(gradients));
}

}  // namespace tegula
