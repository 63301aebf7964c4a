#include "tegula/dist/collectives/collectives.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/dist/collectives/narrow_exchange.h"
#include "tegula/dist/engines/device_call.h"
#include "tegula/dist/exchange/group_state.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula::dist {
namespace {

/// Axis 0 is the one that is split. Input 0 is what goes in, or, of Receive, a tensor without elements that the result comes after.
class CollectiveOp final : public LibraryOp {
 public:
  CollectiveOp(Group group, const Collective& what, Turn turn = Turn::OfItsLine) : group_(std::move(group)), what_(what), turn_(turn) {}
  /// An all-gather.
  CollectiveOp(Group group, const Collective& what, std::optional<Precision> gradient)
      : group_(std::move(group)),
        what_(what),
        anew_(true),
        narrow_(gradient == Precision::bf16 && (what.dtype == f32 || what.dtype == f64)) {}

  std::string_view name() const override { return dist::name(what_.kind); }
  std::string_view class_name() const override { return kExchange; }
  void attributes(Attributes& a) override {
    a.told_by_name(what_.kind);
    a.choice("reduction", what_.reduction, {"sum", "mean", "max"});
    a("root", what_.root);
    std::int64_t group = group_.id();
    a("group", group);
    a("trace", what_.trace);
    a("number", what_.number);
    bool turns = takes_turns();
    a("takes turns", turns);
    a("anew", anew_);
    a("narrow", narrow_);
  }
  Numerics numerics() const override { return Numerics::Full; }
  bool takes_float8() const override {
    return what_.kind != Kind::AllReduce && what_.kind != Kind::ReduceScatter && what_.kind != Kind::Reduce;
  }
  Effect effect() const override {
    const Kind kind = what_.kind;
    return kind == Kind::Send || kind == Kind::Receive || kind == Kind::Barrier ? Effect::Always : Effect::Ordered;
  }
  bool makes_anew() const override { return anew_; }
  bool takes_turns() const override { return turn_ == Turn::AmongLayers; }
  bool may_be_in_place() const override { return what_.kind == Kind::AllReduce; }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense(); }
  double operations(std::span<const Shape> inputs, const Shape&) const override { return static_cast<double>(numel(inputs[0])); }
  std::unique_ptr<runtime::Call> prepare(runtime::Device& device, const Setting& setting) const override {
    return collective_call(device, group_, what_, setting.results[0].shape);
  }
  /// The values for a group of one.
  void reference(std::span<const std::span<const double>> x, std::span<const Shape>, std::span<double> y, const Shape&) const override {
    std::copy_n(x[0].begin(), std::min(x[0].size(), y.size()), y.begin());
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override;

 private:
  Group group_;
  Collective what_;
  Turn turn_ = Turn::OfItsLine;
  // For an all-gather: LibraryOp::makes_anew, and true if its gradient travels as bf16.
  bool anew_ = false, narrow_ = false;
};

/// `what`, as one that this trace makes of the group.
Collective counted(const Group& group, Collective what) {
  const Trace* const trace = Trace::current();
  if (!trace || what.kind == Kind::Send || what.kind == Kind::Receive) return what;
  Group::State& state = *group.state();
  if (state.trace != trace->id()) state.trace = trace->id(), state.in_trace = 0;
  what.trace = std::hash<std::string>()(to_string(trace->where()));
  what.number = ++state.in_trace;
  return what;
}

template <class... Further>
Tensor node_of(const Group& group, const Collective& what, const Tensor& x, const Shape& shape, const Line& where,
               const Further&... further) {
  return make_node(Ref<const Op>(new CollectiveOp(group, counted(group, what), further...)), {x}, shape, what.dtype, where);
}

Tensor of_same_shape(Kind kind, const Group& group, const Tensor& x, Reduction reduction, int root, const Line& where) {
  return node_of(group, {kind, x.dtype(), x.shape(), reduction, root}, x, x.shape(), where);
}

Tensor gathered(const Group& group, const Tensor& x, const Line& where, Turn turn = Turn::OfItsLine) {
  Shape shape = x.shape();
  shape[0] *= group.size();
  return node_of(group, {Kind::AllGather, x.dtype(), x.shape()}, x, shape, where, turn);
}

Tensor scattered(const Group& group, const Tensor& x, Reduction reduction, const Line& where, Turn turn = Turn::OfItsLine) {
  Shape shape = x.shape();
  shape[0] /= group.size();
  return node_of(group, {Kind::ReduceScatter, x.dtype(), x.shape(), reduction}, x, shape, where, turn);
}

/// An empty tensor of the dtype: the predecessor of a receive for which the program names none.
Tensor nothing(DType dtype, const Line& where) { return graph::full({0}, 0, dtype, where); }

Tensor received(const Group& group, const Shape& shape, DType dtype, int from, const Tensor& after, const Line& where) {
  return node_of(group, {Kind::Receive, dtype, shape, Reduction::Sum, from}, after, shape, where);
}

Tensor sent(const Group& group, const Tensor& x, int to, const Line& where) {
  return node_of(group, {Kind::Send, x.dtype(), x.shape(), Reduction::Sum, to}, x, {0}, where);
}

/// This rank's share of a maximum's gradient: all of it, or its part if several ranks have the maximum.
Tensor share_of_maximum(const Group& group, const Tensor& x, const Tensor& maximum, const Tensor& dy, const Line& where) {
  const Tensor has = cast(x == maximum, x.dtype());
  return dy * has / of_same_shape(Kind::AllReduce, group, has, Reduction::Sum, 0, where);
}

std::vector<Tensor> CollectiveOp::gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const {
  const auto& where = y.origin().where;
  const Tensor x(y.inputs()[0]), result(Ref<Node>(const_cast<Node*>(&y)));
  const bool maximum = what_.reduction == Reduction::Max;
  const Reduction adjoint = maximum ? Reduction::Sum : what_.reduction;
  switch (what_.kind) {
    case Kind::AllReduce: {
      const Tensor all = node_of(group_, {Kind::AllReduce, dy.dtype(), dy.shape(), adjoint}, dy, dy.shape(), where, turn_);
      return {maximum ? share_of_maximum(group_, x, result, all, where) : all};
    }
    case Kind::ReduceScatter: {
      const Tensor all = gathered(group_, dy, where, turn_);
      if (maximum) return {share_of_maximum(group_, x, gathered(group_, result, where, turn_), all, where)};
      return {adjoint == Reduction::Mean ? all / static_cast<double>(group_.size()) : all};
    }
    case Kind::AllGather:
      if (narrow_) return {cast(reduce_scatter_in_bf16(dy, group_, Reduction::Sum, where), x.dtype())};
      return {scattered(group_, dy, Reduction::Sum, where, turn_)};
    case Kind::Broadcast: return {of_same_shape(Kind::Reduce, group_, dy, Reduction::Sum, what_.root, where)};
    case Kind::Reduce: {
      const Tensor all = of_same_shape(Kind::Broadcast, group_, dy, Reduction::Sum, what_.root, where);
      if (maximum) {
        const Tensor largest = of_same_shape(Kind::Broadcast, group_, result, Reduction::Sum, what_.root, where);
        return {share_of_maximum(group_, x, largest, all, where)};
      }
      return {adjoint == Reduction::Mean ? all / static_cast<double>(group_.size()) : all};
    }
    case Kind::AllToAll: return {of_same_shape(Kind::AllToAll, group_, dy, Reduction::Sum, 0, where)};
    case Kind::Send: return {received(group_, x.shape(), x.dtype(), what_.root, dy, where)};
    case Kind::Receive: return {sent(group_, dy, what_.root, where)};
    case Kind::Barrier: break;
  }
  return {};
}

[[noreturn]] void refuse(std::string_view op, const std::string& got, const std::string& expected, const Line& where) {
  throw Error({.op = std::string(op), .got = got, .expected = expected, .where = origin_at(where).where});
}

void require_member(std::string_view op, const Group& group, const Line& where) {
  if (!group.contains_me()) refuse(op, "a rank that is not in the group " + group.text(), "only the ranks of the group to call it", where);
}

void require_rank(std::string_view op, const Group& group, int rank, const Line& where) {
  if (rank < 0 || rank >= group.size()) {
    refuse(op, "rank " + std::to_string(rank) + " of a group of " + std::to_string(group.size()), "0 … " + std::to_string(group.size() - 1),
           where);
  }
}

void require_reducible(std::string_view op, DType dtype, Reduction reduction, const Line& where) {
  if (dtype == boolean && reduction != Reduction::Max)
    refuse(op, "the " + std::string(name(reduction)) + " of booleans", "Reduction::Max, which is 'any', or a cast to i64", where);
  if (!is_float(dtype) && reduction == Reduction::Mean) refuse(op, "the mean of " + std::string(name(dtype)), "a float dtype", where);
}

/// The axis from the front, along which x has n equal parts (`parts`) or may be joined.
int require_axis(std::string_view op, const Tensor& x, int axis, const Group& group, bool parts, const Line& where) {
  const int rank = x.rank();
  if (axis < -rank || axis >= rank)
    refuse(op, "axis " + std::to_string(axis) + " of shape " + to_string(x.shape()), "an axis of it", where);
  const int found = axis < 0 ? axis + rank : axis;
  if (parts && x.shape()[found] % group.size() != 0) {
    refuse(op, "shape " + to_string(x.shape()) + " for a group of " + std::to_string(group.size()),
           "axis " + std::to_string(found) + " to have as many elements for each rank", where);
  }
  return found;
}

/// f over axis 0 in place of `axis`.
template <class F>
Tensor along(const Tensor& x, int axis, F&& f) {
  return axis == 0 ? f(x) : movedim(f(movedim(x, axis, 0)), 0, axis);
}

}  // namespace

Tensor all_reduce(Arg x, const Group& group, Reduction reduction, Turn turn) {
  const Tensor from = x.tensor("all_reduce");
  require_member("all_reduce", group, x.loc);
  require_reducible("all_reduce", from.dtype(), reduction, x.loc);
  if (group.size() == 1) return graph::identity(from, x.loc);
  return node_of(group, {Kind::AllReduce, from.dtype(), from.shape(), reduction}, from, from.shape(), x.loc, turn);
}

Tensor reduce_scatter(Arg x, const Group& group, Reduction reduction, int axis, Turn turn) {
  const Tensor from = x.tensor("reduce_scatter");
  require_member("reduce_scatter", group, x.loc);
  require_reducible("reduce_scatter", from.dtype(), reduction, x.loc);
  const int at = require_axis("reduce_scatter", from, axis, group, true, x.loc);
  if (group.size() == 1) return graph::identity(from, x.loc);
  const In frame("reduce_scatter", x.loc);
  return along(from, at, [&](const Tensor& t) { return scattered(group, t, reduction, x.loc, turn); });
}

Tensor all_gather(Arg x, const Group& group, int axis, Turn turn) {
  const Tensor from = x.tensor("all_gather");
  require_member("all_gather", group, x.loc);
  const int at = require_axis("all_gather", from, axis, group, false, x.loc);
  if (group.size() == 1) return graph::identity(from, x.loc);
  const In frame("all_gather", x.loc);
  return along(from, at, [&](const Tensor& t) { return gathered(group, t, x.loc, turn); });
}

Tensor all_gather_anew(Arg x, const Group& group, std::optional<Precision> gradient) {
  const Tensor from = x.tensor("all_gather");
  require_member("all_gather", group, x.loc);
  require_axis("all_gather", from, 0, group, false, x.loc);
  if (group.size() == 1) return graph::identity(from, x.loc);
  Shape shape = from.shape();
  shape[0] *= group.size();
  return node_of(group, {Kind::AllGather, from.dtype(), from.shape()}, from, shape, x.loc, gradient);
}

Tensor broadcast(Arg x, int root, const Group& group) {
  const Tensor from = x.tensor("broadcast");
  require_member("broadcast", group, x.loc);
  require_rank("broadcast", group, root, x.loc);
  if (group.size() == 1) return graph::identity(from, x.loc);
  return of_same_shape(Kind::Broadcast, group, from, Reduction::Sum, root, x.loc);
}

Tensor reduce(Arg x, int root, const Group& group, Reduction reduction) {
  const Tensor from = x.tensor("reduce");
  require_member("reduce", group, x.loc);
  require_rank("reduce", group, root, x.loc);
  require_reducible("reduce", from.dtype(), reduction, x.loc);
  if (group.size() == 1) return graph::identity(from, x.loc);
  return of_same_shape(Kind::Reduce, group, from, reduction, root, x.loc);
}

Tensor all_to_all(Arg x, const Group& group, int axis) {
  const Tensor from = x.tensor("all_to_all");
  require_member("all_to_all", group, x.loc);
  const int at = require_axis("all_to_all", from, axis, group, true, x.loc);
  if (group.size() == 1) return graph::identity(from, x.loc);
  const In frame("all_to_all", x.loc);
  return along(from, at, [&](const Tensor& t) { return of_same_shape(Kind::AllToAll, group, t, Reduction::Sum, 0, x.loc); });
}

Tensor send(Arg x, int to, const Group& group) {
  const Tensor from = x.tensor("send");
  require_member("send", group, x.loc);
  require_rank("send", group, to, x.loc);
  if (to == group.rank()) refuse("send", "this rank itself, " + std::to_string(to), "another one", x.loc);
  return sent(group, from, to, x.loc);
}

Tensor receive(const Shape& shape, DType dtype, int from, const Group& group, const Tensor& after, Line where) {
  require_member("receive", group, where);
  require_rank("receive", group, from, where);
  if (from == group.rank()) refuse("receive", "this rank itself, " + std::to_string(from), "another one", where);
  if (after.defined() && (after.dtype() != dtype || after.shape() != Shape{0})) {
    refuse("receive", std::string(name(after.dtype())) + " " + to_string(after.shape()) + " to come after",
           std::string(name(dtype)) + " (0)", where);
  }
  return received(group, shape, dtype, from, after.defined() ? after : nothing(dtype, where), where);
}

void barrier(const Group& group, Line where) {
  require_member("barrier", group, where);
  if (group.size() == 1) return;
  node_of(group, {Kind::Barrier, u8, {0}}, nothing(u8, where), {0}, where);
  if (Trace::current()) return;
  settle_noted();
  default_device().synchronize();
}

}  // namespace tegula::dist
