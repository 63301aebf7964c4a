#include "tegula/graph/structural.h"

#include <cmath>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/graph_ops.h"
#include "tegula/graph/op_table.h"
#include "tegula/tile/builder.h"

namespace tegula {
namespace {

class LeafOp final : public Op {
 public:
  std::string_view name() const override { return "leaf"; }
  Role role() const override { return Role::Leaf; }
};

class CastOp final : public ElementwiseOp {
 public:
  std::string_view name() const override { return "cast"; }
  Numerics numerics() const override { return Numerics::Full; }  // a dtype that the user named
  bool takes_float8() const override { return true; }
  tile::Value emit(tile::Builder&, std::span<const tile::Value> x, DType dtype) const override { return tile::cast(x[0], dtype); }
  double reference(std::span<const double> x) const override { return x[0]; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    if (!is_float(y.dtype()) || !is_float(y.input(0).dtype())) return {Tensor()};
    return {graph::as_derivative(dy, y.input(0).dtype())};
  }
};

class AddOp final : public ElementwiseOp {  // the graph's own addition: sums of gradients
 public:
  std::string_view name() const override { return "add_n"; }
  bool takes_float8() const override { return true; }
  tile::Value emit(tile::Builder&, std::span<const tile::Value> x, DType) const override {
    tile::Value sum = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) sum = sum + x[i];
    return sum;
  }
  double reference(std::span<const double> x) const override {
    double sum = 0;
    for (double v : x) sum += v;
    return sum;
  }
  std::vector<Tensor> gradient(const Node&, const Tensor& dy, const std::vector<bool>& wanted) const override {
    return std::vector<Tensor>(wanted.size(), dy);
  }
};

class IdentityOp final : public ViewOp {
 public:
  std::string_view name() const override { return "identity"; }
  std::optional<Layout> apply(const Layout& input) const override { return input; }
  std::vector<Tensor> gradient(const Node&, const Tensor& dy, const std::vector<bool>&) const override { return {dy}; }
};

class ReshapeOp final : public ViewOp {
 public:
  explicit ReshapeOp(const Shape& shape) : shape_(shape) {}
  std::string_view name() const override { return "reshape"; }
  void attributes(Attributes& a) override {
    if (const Signature* node = a.made_for()) shape_ = node->results[0].shape;
  }
  std::optional<Layout> apply(const Layout& input) const override { return tegula::reshape(input, shape_); }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    return {graph::reshape(dy, y.input(0).shape())};
  }

 private:
  Shape shape_;
};

bool is_permutation(const Dims& order, int rank) {
  for (int i = 0; i < rank; ++i)
    if (!order.contains(i)) return false;
  return order.rank() == rank;
}

class PermuteOp final : public ViewOp {
 public:
  explicit PermuteOp(const Dims& order) : order_(order) {}
  std::string_view name() const override { return "permute"; }
  const Dims& order() const { return order_; }
  void attributes(Attributes& a) override {
    a("order", order_);
    if (const Signature* node = a.made_for()) a.require(is_permutation(order_, node->inputs[0].shape.rank()), "order");
  }
  std::optional<Layout> apply(const Layout& input) const override {
    Layout out = input;
    for (int i = 0; i < order_.rank(); ++i) {
      out.shape[i] = input.shape[static_cast<int>(order_[i])];
      out.strides[i] = input.strides[static_cast<int>(order_[i])];
    }
    return out;
  }
  std::vector<Tensor> gradient(const Node&, const Tensor& dy, const std::vector<bool>&) const override {
    Dims inverse = order_;
    for (int i = 0; i < order_.rank(); ++i) inverse[static_cast<int>(order_[i])] = i;
    return {graph::permute(dy, inverse)};
  }

 private:
  Dims order_;
};

class SumOp final : public ReduceOp {
 public:
  SumOp(const Dims& axes, tile::Reduction kind) : axes_(axes), kind_(kind) {}
  std::string_view name() const override { return tile::name(kind_); }
  void attributes(Attributes& a) override {
    a.told_by_name(kind_);
    a("axes", axes_);  // used by the maker of nodes from files: of all reductions
  }
  tile::Reduction kind() const override { return kind_; }
  const Dims& axes() const override { return axes_; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    if (kind_ != tile::Reduction::Sum) return {Tensor()};
    const Shape& shape = y.input(0).shape();
    Shape kept = shape;
    for (auto axis : axes_) kept[static_cast<int>(axis)] = 1;
    return {graph::expand(graph::reshape(dy, kept), shape)};
  }

 private:
  Dims axes_;
  tile::Reduction kind_;
};

}  // namespace

class ExpandOp final : public ViewOp {
 public:
  explicit ExpandOp(const Shape& shape) : shape_(shape) {}
  std::string_view name() const override { return "expand"; }
  void attributes(Attributes& a) override {
    if (const Signature* node = a.made_for()) {
      shape_ = node->results[0].shape;
      a.require(broadcast(node->inputs[0].shape, shape_) == shape_, "shape");
    }
  }
  std::optional<Layout> apply(const Layout& input) const override {
    Layout out{shape_, Dims::filled(shape_.rank(), 0), input.offset};
    const int lead = shape_.rank() - input.shape.rank();
    for (int i = 0; i < input.shape.rank(); ++i) out.strides[lead + i] = input.shape[i] == 1 ? 0 : input.strides[i];
    return out;
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    return {graph::sum_to(dy, y.input(0).shape())};
  }

 private:
  Shape shape_;
};

const Ref<const Op>& leaf_op() {
  static const Ref<const Op> op(new LeafOp);
  return op;
}

const Ref<const Op>& cast_op() {
  static const Ref<const Op> op(new CastOp);
  return op;
}

namespace {

const Ref<const Op>& add_op() {
  static const Ref<const Op> op(new AddOp);
  return op;
}
const Ref<const Op>& identity_op() {
  static const Ref<const Op> op(new IdentityOp);
  return op;
}
const Ref<const Op>& stop_gradient_op() {
  static const Ref<const Op> op(new StopOp("stop_gradient"));
  return op;
}
const Ref<const Op>& variable_op() {
  static const Ref<const Op> op(new StopOp("variable"));
  return op;
}

}  // namespace

void add_structural_ops(OpTable& table) {
  table.add_class<IndexOp>("index", 0, Layout());
  table.add_op(cast_op(), 1);
  table.add_op(add_op(), OpTable::kAnyInputs);
  for (const auto& op : {identity_op(), stop_gradient_op(), variable_op()}) table.add_op(op, 1);
  table.add_class<ReshapeOp>("reshape", 1, Shape());
  table.add_class<PermuteOp>("permute", 1, Dims());
  table.add_class<ExpandOp>("expand", 1, Shape());
  for (const auto kind : {tile::Reduction::Sum, tile::Reduction::Any, tile::Reduction::All})
    table.add_class<SumOp>(std::string(tile::name(kind)), 1, Dims(), kind);
}

Ref<const Op> reshape_op(const Shape& shape) { return Ref<const Op>(new ReshapeOp(shape)); }
Ref<const Op> permute_op(const Dims& order) { return Ref<const Op>(new PermuteOp(order)); }

Tensor make_node(Ref<const Op> op, std::initializer_list<Tensor> inputs, const Shape& shape, DType dtype, const Line& where) {
  return make_node(std::move(op), std::span(inputs.begin(), inputs.size()), shape, dtype, where);
}

namespace {

/// The nodes of these tensors, each of which there must be.
template <class Use>
Tensor with_nodes(std::span<const Tensor> inputs, const Line& where, Use use) {
  constexpr std::size_t kFew = 8;
  std::array<Ref<Node>, kFew> few;
  std::vector<Ref<Node>> many;
  if (inputs.size() > kFew) many.resize(inputs.size());
  const std::span<Ref<Node>> refs = inputs.size() > kFew ? std::span<Ref<Node>>(many) : std::span<Ref<Node>>(few.data(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].shape(where);  // refuses empty handles
    refs[i] = inputs[i].node();
  }
  return Tensor(use(refs));
}

void check_countable(const Op& op, const Shape& shape, const Line& where) {
  if (!countable(shape)) {
    throw Error({.op = std::string(op.name()),
                 .got = "shape " + to_string(shape),
                 .expected = "fewer than 2^60 elements",
                 .advice = "it was probably computed from wrong numbers",
                 .where = origin_at(where).where});
  }
}

void check_float8(const Op& op, std::span<const Tensor> inputs, DType result, const Line& where) {
  DType found = result;
  for (const Tensor& x : inputs)
    if (is_float8(x.dtype(where))) found = x.dtype();
  if (!is_float8(found) || op.takes_float8()) return;
  throw Error({.op = std::string(op.name()),
               .got = "dtype " + std::string(name(found)),
               .expected = "a dtype that it computes in: tensors are only kept in " + std::string(name(found)),
               .advice = "cast(x, bf16) or cast(x, f32)",
               .where = origin_at(where).where});
}

// A node of the class that fits its dtype and op; it is not noted for evaluation (note_new_nodes).
Tensor new_node(Ref<const Op> op, std::span<const Tensor> inputs, std::span<const Result> results, const Line& where) {
  for (const Result& result : results) {
    check_countable(*op, result.shape, where);
    check_float8(*op, inputs, result.dtype, where);
  }
  return with_nodes(inputs, where, [&](auto refs) { return make<Node>(std::move(op), refs, results, origin_at(where)); });
}

Tensor new_part(const Ref<Node>& of, int k, const Origin& origin) {
  const Result& result = of->results()[static_cast<std::size_t>(k)];
  Tensor part(make<Node>(make<const PartOp>(k), std::span(&of, 1), result.shape, result.dtype, origin));
  part.node()->become_part(k);
  return part;
}

}  // namespace

Tensor make_node(Ref<const Op> op, std::span<const Tensor> inputs, const Shape& shape, DType dtype, const Line& where) {
  check_countable(*op, shape, where);
  check_float8(*op, inputs, dtype, where);
  Tensor result = with_nodes(inputs, where, [&](auto refs) { return make<Node>(std::move(op), refs, shape, dtype, origin_at(where)); });
  note_new_nodes(std::span(&result.node(), 1));
  return result;
}

std::vector<Tensor> make_nodes(Ref<const Op> op, std::span<const Tensor> inputs, std::span<const Result> results, const Line& where) {
  const Tensor several = new_node(std::move(op), inputs, results, where);
  std::vector<Tensor> parts;
  std::vector<Ref<Node>> nodes;
  for (int k = 0; k < static_cast<int>(results.size()); ++k) {
    parts.push_back(new_part(several.node(), k, several.node()->origin()));
    nodes.push_back(parts.back().node());
  }
  note_new_nodes(nodes);
  return parts;
}

Tensor copy_node(const Node& node, std::span<const Tensor> inputs) {
  const auto& where = node.origin().where;
  if (!node.results().empty()) return new_node(node.op_ref(), inputs, node.results(), where);
  if (node.is_part()) {
    Tensor part = new_part(inputs[0].node(), static_cast<const PartOp&>(node.op()).index(), origin_at(where));
    note_new_nodes(std::span(&part.node(), 1));
    return part;
  }
  return make_node(node.op_ref(), inputs, node.shape(), node.dtype(), where);
}

namespace graph {

Tensor part(const Node& of, int k) {
  if (Ref<Node> living = of.living_part(k)) return Tensor(std::move(living));
  return new_part(Ref<Node>(const_cast<Node*>(&of)), k, of.origin());
}

Tensor scalar(Number value, DType dtype, const Line& where) {
  if (is_integer(dtype) && !value.fits(dtype)) {
    throw Error({.op = "number",
                 .got = number_text(value.real()) + " for dtype " + std::string(name(dtype)),
                 .expected = "a number that " + std::string(dtype == u64 ? "u64" : "i64") + " holds",
                 .advice = "give the tensor a float dtype first",
                 .where = origin_at(where).where});
  }
  return make_node(Ref<const Op>(new ScalarOp(value)), {}, {}, dtype, where);
}

Tensor full(const Shape& shape, Number value, DType dtype, const Line& where) { return expand(scalar(value, dtype, where), shape, where); }

Tensor index(const Layout& pattern, const Line& where) {
  return make_node(Ref<const Op>(new IndexOp(pattern)), {}, pattern.shape, DType::i64, where);
}

Tensor expand(const Tensor& x, const Shape& shape, const Line& where) {
  if (x.shape(where) == shape) return x;
  if (broadcast(x.shape(), shape) != shape) {
    throw Error({.op = "expand",
                 .got = "shape " + to_string(x.shape()),
                 .expected = "one that broadcasts to " + to_string(shape),
                 .advice = "axes must agree or have size 1, counted from the last",
                 .where = origin_at(where).where});
  }
  return make_node(Ref<const Op>(new ExpandOp(shape)), {x}, shape, x.dtype(), where);
}

Tensor sum_to(const Tensor& x, const Shape& shape, const Line& where) {
  if (x.shape(where) == shape) return x;
  const int lead = x.rank() - shape.rank();
  Dims axes;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && x.shape()[i] != 1)) axes.push_back(i);
  }
  return reshape(axes.empty() ? x : sum(x, axes, where), shape, where);
}

Tensor reshape(const Tensor& x, const Shape& shape, const Line& where) {
  if (x.shape(where) == shape) return x;
  if (x.numel() != numel(shape)) {
    throw Error({.op = "reshape",
                 .got = "shape " + to_string(x.shape()) + " (" + std::to_string(x.numel()) + " elements)",
                 .expected = "as many elements as in " + to_string(shape) + " (" + std::to_string(numel(shape)) + ")",
                 .advice = "one size may be given as -1 and is then computed",
                 .where = origin_at(where).where});
  }
  return make_node(reshape_op(shape), {x}, shape, x.dtype(), where);
}

Tensor permute(const Tensor& x, const Dims& order, const Line& where) {
  x.shape(where);  // refuses an empty tensor
  bool identity = true;
  Shape shape = x.shape(where);
  for (int i = 0; i < order.rank(); ++i) {
    shape[i] = x.shape()[static_cast<int>(order[i])];
    identity = identity && order[i] == i;
  }
  if (identity) return x;
  return make_node(permute_op(order), {x}, shape, x.dtype(), where);
}

Tensor reduce(const Tensor& x, const Dims& axes, tile::Reduction kind, const Line& where) {
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (!axes.contains(i)) shape.push_back(x.shape()[i]);
  }
  return make_node(Ref<const Op>(new SumOp(axes, kind)), {x}, shape, x.dtype(), where);
}

Tensor sum(const Tensor& x, const Dims& axes, const Line& where) {
  if (axes.empty()) return x;
  return reduce(x, axes, tile::Reduction::Sum, where);
}

Tensor cast(const Tensor& x, DType dtype, const Line& where) {
  if (x.dtype(where) == dtype) return x;
  return make_node(cast_op(), {x}, x.shape(), dtype, where);
}

Tensor as_derivative(const Tensor& dy, DType dtype, const Line& where) {
  if (!is_float8(dtype)) return cast(dy, dtype, where);
  return is_float8(dy.dtype(where)) ? cast(dy, f32, where) : dy;
}

Tensor add_n(std::span<const Tensor> terms, const Line& where) {
  if (terms.size() == 1) return terms[0];
  return make_node(add_op(), terms, terms[0].shape(where), terms[0].dtype(), where);
}

Tensor stop_gradient(const Tensor& x, const Line& where) { return make_node(stop_gradient_op(), {x}, x.shape(where), x.dtype(), where); }

Tensor variable(const Tensor& x, const Line& where) { return make_node(variable_op(), {x}, x.shape(where), x.dtype(), where); }

Tensor identity(const Tensor& x, const Line& where) { return make_node(identity_op(), {x}, x.shape(where), x.dtype(), where); }

Tensor distinct(const Tensor& result, const Tensor& argument, const Line& where) {
  return result.node() == argument.node() ? identity(argument, where) : result;
}

}  // namespace graph
}  // namespace tegula
