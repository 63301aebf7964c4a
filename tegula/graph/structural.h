#pragma once
// The ops the graph itself needs: leaves, numbers, index patterns, sums of gradients, broadcasts, casts. Everything else is in ops/.

#include "tegula/graph/tensor.h"

namespace tegula {

/// The op of leaves.
const Ref<const Op>& leaf_op();
/// x in the node's dtype.
const Ref<const Op>& cast_op();
/// The views behind graph::reshape and graph::permute.
Ref<const Op> reshape_op(const Shape& shape);
Ref<const Op> permute_op(const Dims& order);

/// A number known now; shape ().
class ScalarOp final : public Op {
 public:
  explicit ScalarOp(Number value) : value_(value) {}
  std::string_view name() const override { return "scalar"; }
  Role role() const override { return Role::Scalar; }
  // Its value is no attribute: keys leave it out, files have it beside the op's name.
  const Number& value() const { return value_; }

 private:
  Number value_;
};

/// i64 tensor: Σ coordinate[d] * strides[d] + offset.
class IndexOp final : public Op {
 public:
  explicit IndexOp(const Layout& layout) : layout_(layout) {}
  std::string_view name() const override { return "index"; }
  Role role() const override { return Role::Index; }
  void attributes(Attributes& a) override {
    a("strides", layout_.strides);
    a("offset", layout_.offset);
    if (const Signature* node = a.made_for()) {
      layout_.shape = node->results[0].shape;
      a.require(layout_.strides.rank() == layout_.shape.rank(), "strides");
    }
  }
  const Layout& layout() const { return layout_; }

 private:
  Layout layout_;
};

/// Makes a node; the one door through which ops build graph.
Tensor make_node(Ref<const Op> op, std::initializer_list<Tensor> inputs, const Shape& shape, DType dtype, const Line& where);
Tensor make_node(Ref<const Op> op, std::span<const Tensor> inputs, const Shape& shape, DType dtype, const Line& where);

/// Makes a node with several results (two or more) and gives its parts, the tensors that are the results.
std::vector<Tensor> make_nodes(Ref<const Op> op, std::span<const Tensor> inputs, std::span<const Result> results, const Line& where);
/// The same node over other inputs; of one with several results, the node itself, for its parts to be made of.
Tensor copy_node(const Node& node, std::span<const Tensor> inputs);

namespace graph {

/// Result `k` of a node with several results.
Tensor part(const Node& of, int k);
/// A rank-0 constant. Throws Error for an integer dtype and a number that i64 does not hold.
Tensor scalar(Number value, DType dtype, const Line& where = Line::current());
/// The value in every element of `shape`.
Tensor full(const Shape& shape, Number value, DType dtype, const Line& where = Line::current());
Tensor index(const Layout& pattern, const Line& where = Line::current());
/// Broadcast to `shape` as a view (NumPy's rule: axes are added in front, size-1 axes grow). Its gradient is sum_to.
Tensor expand(const Tensor& x, const Shape& shape, const Line& where = Line::current());
/// Sums broadcast axes away: the adjoint of expand.
Tensor sum_to(const Tensor& x, const Shape& shape, const Line& where = Line::current());
/// Same shape: views that change nothing give x itself. numel must agree.
Tensor reshape(const Tensor& x, const Shape& shape, const Line& where = Line::current());
Tensor permute(const Tensor& x, const Dims& order, const Line& where = Line::current());
/// Sum over axes, which the result drops.
Tensor sum(const Tensor& x, const Dims& axes, const Line& where = Line::current());
Tensor cast(const Tensor& x, DType dtype, const Line& where = Line::current());
/// A derivative by a tensor of that dtype: of the same dtype, but by numbers of 8 bits of the one that it came in, or f32: such numbers are not added up.
Tensor as_derivative(const Tensor& dy, DType dtype, const Line& where = Line::current());
/// The sum of one or more tensors of one shape and dtype.
Tensor add_n(std::span<const Tensor> terms, const Line& where = Line::current());
/// x, through which no gradient flows.
Tensor stop_gradient(const Tensor& x, const Line& where = Line::current());
/// x as the value of a Variable: the same elements, through which no gradient flows.
Tensor variable(const Tensor& x, const Line& where = Line::current());
/// x as a tensor of its own, which may be differentiated with respect to without x: what public ops give that change nothing. The
/// compiler looks through it.
Tensor identity(const Tensor& x, const Line& where = Line::current());
/// `result` of a public op; a tensor of its own when the op gave its argument back.
Tensor distinct(const Tensor& result, const Tensor& argument, const Line& where);

/// Sum, Any or All (of booleans) over axes, which the result drops; ops/rows/reduce has the others.
Tensor reduce(const Tensor& x, const Dims& axes, tile::Reduction kind, const Line& where);

}  // namespace graph

/// The op behind graph::expand and friends, for passes that look at views.
class ExpandOp;

}  // namespace tegula
