#include "tegula/ops/loop_builder.h"

#include <algorithm>
#include <unordered_set>

#include "tegula/graph/autodiff/vjp_parts.h"
#include "tegula/graph/joined_products.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/precision.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/shape/join.h"
#include "tegula/tile/builder.h"

namespace tegula::ops {
namespace {

class ScanOp final : public LoopOp {
 public:
  using LoopOp::LoopOp;
  std::vector<Tensor> gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) const override;
  std::vector<Tensor> written_out(std::span<const Tensor> inputs) const override;
};

Tensor slice_at(const Tensor& stack, std::int64_t t, const Line& where) {
  Shape shape = stack.shape();
  shape.erase(0);
  return graph::reshape(part(stack, 0, t, 1, where), shape, where);
}

std::vector<Tensor> ScanOp::written_out(std::span<const Tensor> inputs) const {
  const auto where = Line::current();
  const Region::Instead instead = [](const Node& node, std::span<const Tensor> x) {
    const LoopOp* const loop = LoopOp::of(node.op());
    return loop ? loop->written_out(x) : std::vector<Tensor>();
  };
  const std::size_t carried = carries();
  const auto& results = body().results();
  std::vector<Tensor> carry(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(carried));
  std::vector<std::vector<Tensor>> stacks(results.size() - carried, std::vector<Tensor>(static_cast<std::size_t>(form().length)));
  for (std::int64_t step = 0; step < form().length; ++step) {
    const std::int64_t t = form().reverse ? form().length - 1 - step : step;
    std::vector<Tensor> values = carry;
    for (std::size_t i = carried; i < inputs.size(); ++i)
      values.push_back(input(i) == Input::Slice ? slice_at(inputs[i], t, where) : inputs[i]);
    const Region::Copies copies = body().copy(values, instead);
    for (std::size_t r = carried; r < results.size(); ++r) stacks[r - carried][static_cast<std::size_t>(t)] = copies.at(results[r].get());
    for (std::size_t r = 0; r < carried; ++r) carry[r] = copies.at(results[r].get());
  }
  for (const auto& stack : stacks) carry.push_back(tegula::stack(stack, 0, where));
  return carry;
}

/// The sum over all steps of one step's contributions to a gradient, made after the loop from stacks where that is one op: of products along their
/// inner axis, and of sums over existing stacks.
class SumsBehind {
 public:
  /// `stacked` are stacked anyway.
  SumsBehind(LoopBuilder& loop, std::vector<Tensor> stacked) : loop_(loop), stacked_(std::move(stacked)) {}

  using Behind = std::function<Tensor(const std::vector<Tensor>& stacks)>;
  /// Returns the function that makes the sum, if it is one op over stacks.
  std::optional<Behind> of(const Tensor& term, const Line& where) {
    std::vector<Ref<Node>> views;
    Ref<Node> at = term.node();
    while (at->op().role() == Role::View && !at->inputs().empty()) {
      views.push_back(at);
      at = at->inputs()[0];
    }
    std::optional<Behind> made;
    if (at->op().role() == Role::Library) made = product(*at, where);
    else if (at->op().role() == Role::Reduce) made = sum(*at, where);
    if (!made) return std::nullopt;
    return [made = *made, views](const std::vector<Tensor>& stacks) {
      Tensor value = made(stacks);
      for (auto view = views.rbegin(); view != views.rend(); ++view) value = copy_node(**view, std::span(&value, 1));
      return value;
    };
  }
  const std::vector<Tensor>& stacked() const { return stacked_; }

 private:
  using Stack = std::function<Tensor(const std::vector<Tensor>& stacks)>;

  bool is_stacked(const Tensor& x) const {
    return loop_.stack_of(x).defined() || std::ranges::find(stacked_, x.node(), &Tensor::node) != stacked_.end();
  }
  Stack stack(const Tensor& x) {
    if (Tensor known = loop_.stack_of(x); known.defined()) return [known](const auto&) { return known; };
    const auto found = std::ranges::find(stacked_, x.node(), &Tensor::node);
    const auto place = static_cast<std::size_t>(found - stacked_.begin());
    if (found == stacked_.end()) stacked_.push_back(x);
    return [place](const std::vector<Tensor>& stacks) { return stacks[place]; };
  }

  /// x (K, M), of which `node` is the transpose; or none.
  static Tensor below_transpose(const Node& node) {
    if (node.op().role() != Role::View || node.inputs().empty() || node.input(0).shape().rank() != 2) return {};
    const Layout below = Layout::dense(node.input(0).shape());
    const auto layout = static_cast<const ViewOp&>(node.op()).apply(below);
    const bool turned = layout && layout->offset == 0 && node.shape()[0] == below.shape[1] && node.shape()[1] == below.shape[0] &&
                        layout->strides[0] == below.strides[1] && layout->strides[1] == below.strides[0];
    return turned ? Tensor(node.inputs()[0]) : Tensor();
  }

  /// Σ A_t · B_t = (A_1 … A_T) · (B_1; …; B_T)
  std::optional<Behind> product(const Node& node, const Line& where) {
    const auto& op = static_cast<const LibraryOp&>(node.op());
    if (!op.multiplies_matrices() || node.inputs().size() != 2 || node.precision() == Precision::fp8) return std::nullopt;
    const Tensor a(node.inputs()[0]), b(node.inputs()[1]);
    if (a.rank() != 2 || b.rank() != 2 || !loop_.varies(a) || !loop_.varies(b)) return std::nullopt;
    const Tensor turned = below_transpose(*a.node());
    const std::int64_t m = a.shape()[0], n = b.shape()[1];
    const Tensor first = turned.defined() ? turned : a;
    const auto room = [&](const Tensor& x) { return is_stacked(x) ? 0 : x.numel(); };
    if (!joined_operands_pay(room(first) + room(b), m, n)) return std::nullopt;  // long products, as of loops within
    const Stack left = stack(first), right = stack(b);
    return [=, op = node.op_ref(), precision = node.precision(), dtype = node.dtype(),
            is_turned = turned.defined()](const std::vector<Tensor>& stacks) {
      const PrecisionScope scope(precision);
      const Tensor x = left(stacks), y = right(stacks);
      const std::int64_t inner = y.shape()[0] * y.shape()[1];
      const Tensor all = is_turned ? graph::permute(graph::reshape(x, {inner, m}, where), {1, 0}, where)
                                   : graph::reshape(graph::permute(x, {1, 0, 2}, where), {m, inner}, where);
      return make_node(op, {all, graph::reshape(y, {inner, n}, where)}, {m, n}, dtype, where);
    };
  }

  std::optional<Behind> sum(const Node& node, const Line& where) {
    const auto& op = static_cast<const ReduceOp&>(node.op());
    const Tensor x(node.inputs()[0]);
    if (op.kind() != tile::Reduction::Sum || !is_stacked(x)) return std::nullopt;
    Dims axes{0};
    for (const std::int64_t axis : op.axes()) axes.push_back(axis + 1);
    return [from = stack(x), axes, where](const std::vector<Tensor>& stacks) { return graph::sum(from(stacks), axes, where); };
  }

  LoopBuilder& loop_;
  std::vector<Tensor> stacked_;
};

/// The terms of a sum of gradients.
std::vector<Tensor> terms_of(const Tensor& sum) {
  if (sum.node()->op().name() != "add_n") return {sum};
  std::vector<Tensor> terms;
  for (const auto& input : sum.node()->inputs()) terms.emplace_back(input);
  return terms;
}

/// The contribution of one step to the gradient of an input that all steps share.
struct Share {
  std::size_t input = 0;
  std::vector<SumsBehind::Behind> behind = {};
  std::vector<Tensor> rest = {};  // summed up from step to step
  std::size_t carry = 0;
};

/// The zeros of the gradients that a step sends to the one before it: they absorb infinite derivatives, if a step chooses.
Zeros zeros_between_steps(const Region& body) {
  Zeros zeros = Zeros::Plain;
  for (const auto& node : body.nodes()) zeros = std::max(zeros, node->op().gradient_zeros());
  return std::min(zeros, Zeros::AbsorbPoles);
}

// The reversed loop: a step gets the inputs of this loop's step, and the results of its calls and kernels, from stacks; elementwise work is done
// again.
std::vector<Tensor> ScanOp::gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) const {
  const auto& where = y.origin().where;
  const auto& results = body().results();
  const std::size_t carried = carries(), inputs = y.inputs().size();
  const auto stack_of_result = [&](const Node* inside) {
    for (std::size_t r = carried; r < results.size(); ++r)
      if (results[r].get() == inside) return graph::part(y, static_cast<int>(r));
    return Tensor();
  };
  LoopBuilder back(form().length, !form().reverse, where);
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < inputs; ++i) {
    const Tensor outside(y.inputs()[i]);
    values.push_back(input(i) == Input::Carry               ? back.slice(stack_of_result(body().parameters()[i].get()))
                     : input(i) == Input::Slice             ? back.slice(outside)
                     : input(i) == Input::Same || wanted[i] ? back.same(outside)
                                                            : outside);
  }
  const Region::Copies copies = body().copy(values);
  const auto is_float_result = [&](std::size_t r) { return is_float(results[r]->dtype()); };
  std::vector<Tensor> ys, seeds, next;
  std::vector<Wrt> targets;
  std::vector<std::size_t> target_of;  // input
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (!is_float_result(r) || (r >= carried && !dys[r].defined())) continue;
    const Tensor dy = dys[r].defined() ? graph::cast(dys[r], results[r]->dtype(), where)
                                       : graph::full(results[r]->shape(), 0.0, results[r]->dtype(), where);
    seeds.push_back(r < carried ? back.carry(dy) : back.slice(dy));
    seeds.back().node()->raise_zeros(std::max(dy.node()->zeros(), r < carried ? zeros_between_steps(body()) : Zeros::Plain));
    ys.push_back(copies.at(results[r].get()));
  }
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!is_float(values[i].dtype()) || (input(i) != Input::Carry && !wanted[i])) continue;
    targets.emplace_back(values[i]);
    target_of.push_back(i);
  }
  std::vector<Tensor> parts = vjp_parts(ys, seeds, targets, where);
  for (std::size_t k = 0; k < parts.size(); ++k)  // a step hands on what its state can hold
    if (parts[k].defined()) parts[k] = graph::cast(parts[k], values[target_of[k]].dtype(), where);
  // Values that this loop has in stacks are not computed again. Its results come first, because it may have given them away.
  for (std::size_t r = carried; r < results.size(); ++r) {
    const Role role = results[r]->op().role();
    if (role == Role::Library || role == Role::Kernel || role == Role::Part || role == Role::Reduce)
      back.take_slice(copies.at(results[r].get()), graph::part(y, static_cast<int>(r)));
  }
  std::vector<Tensor> stacked;
  std::vector<std::size_t> stacked_of;  // input
  std::vector<Share> shares;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const std::size_t i = target_of[k];
    if (input(i) == Input::Carry)
      next.push_back(parts[k].defined() ? parts[k] : graph::full(values[i].shape(), 0.0, values[i].dtype(), where));
    if (input(i) == Input::Slice && parts[k].defined()) stacked.push_back(parts[k]), stacked_of.push_back(i);
    if ((input(i) == Input::Same || input(i) == Input::Number) && parts[k].defined()) shares.push_back({.input = i});
  }
  SumsBehind behind(back, stacked);
  // Products decide the stacks; sums over those are then free.
  for (const bool products : {true, false}) {
    for (Share& share : shares) {
      const auto k = static_cast<std::size_t>(std::ranges::find(target_of, share.input) - target_of.begin());
      const std::vector<Tensor> terms = products ? terms_of(parts[k]) : std::exchange(share.rest, {});
      for (const Tensor& term : terms) {
        if (auto made = behind.of(term, where)) share.behind.push_back(std::move(*made));
        else share.rest.push_back(term);
      }
    }
  }
  for (Share& share : shares) {
    if (share.rest.empty()) continue;
    share.carry = next.size();
    const Tensor& like = values[share.input];
    const Tensor sum = back.carry(graph::full(like.shape(), 0.0, like.dtype(), where));
    share.rest.insert(share.rest.begin(), sum);
    next.push_back(graph::add_n(share.rest, where));
  }
  const LoopBuilder::Results made = back.finish(next, behind.stacked());
  std::vector<Tensor> out(inputs);
  for (std::size_t i = 0, k = 0; i < carried; ++i) {
    if (!is_float_result(i)) continue;
    if (wanted[i]) out[i] = made.last[k];
    ++k;
  }
  for (std::size_t s = 0; s < stacked_of.size(); ++s) out[stacked_of[s]] = made.stacks[s];
  for (const Share& share : shares) {
    std::vector<Tensor> terms;
    for (const auto& make : share.behind) terms.push_back(make(made.stacks));
    if (!share.rest.empty()) terms.push_back(made.last[share.carry]);
    out[share.input] = graph::add_n(terms, where);
  }
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (const Tensor& made_of = out[target_of[k]]; made_of.defined() && parts[k].defined())
      made_of.node()->raise_zeros(parts[k].node()->zeros());
  }
  return out;
}

}  // namespace

LoopBuilder::LoopBuilder(std::int64_t length, bool reverse, const Line& where)
    : length_(length),
      reverse_(reverse),
      where_(where),
      trace_(std::in_place, where, Trace::OfBody{}) {}

Tensor LoopBuilder::stand_in(const Tensor& like) {
  return make_node(leaf_op(), {}, like.shape(where_), like.dtype(), like.node()->origin().where);
}

Tensor LoopBuilder::carry(const Tensor& start) {
  carries_.push_back({stand_in(start).node(), start.node()});
  return Tensor(carries_.back().inside);
}

Tensor LoopBuilder::slice(const Tensor& stack) {
  Shape shape = stack.shape(where_);
  shape.erase(0);
  const Tensor one = make_node(leaf_op(), {}, shape, stack.dtype(), stack.node()->origin().where);
  take_slice(one, stack);
  return one;
}

Tensor LoopBuilder::same(const Tensor& value) {
  same_.push_back({stand_in(value).node(), value.node()});
  return Tensor(same_.back().inside);
}

void LoopBuilder::take_slice(const Tensor& inside, const Tensor& stack) {
  if (!stack_of(inside).defined()) slices_.push_back({inside.node(), stack.node()});
}

Tensor LoopBuilder::stack_of(const Tensor& inside) const {
  const auto found = std::ranges::find(slices_, inside.node(), &Region::StandIn::inside);
  return found == slices_.end() ? Tensor() : Tensor(found->outside);
}

bool LoopBuilder::assigns() const {
  return std::ranges::any_of(trace_->cells(), [](const Trace::CellUse& use) { return use.written; });
}

bool LoopBuilder::varies(const Tensor& x) const {
  std::unordered_set<const Node*> changing, seen;
  std::uint64_t oldest = ~std::uint64_t{0};
  for (const auto* list : {&carries_, &slices_}) {
    for (const auto& one : *list) {
      changing.insert(one.inside.get());
      oldest = std::min(oldest, one.inside->sequence());
    }
  }
  std::vector<Ref<Node>> stack{x.node()};
  while (!stack.empty()) {
    const Ref<Node> node = stack.back();
    stack.pop_back();
    if (changing.contains(node.get())) return true;
    if (node->sequence() < oldest || !seen.insert(node.get()).second) continue;
    stack.insert(stack.end(), node->inputs().begin(), node->inputs().end());
  }
  return false;
}

LoopBuilder::Results LoopBuilder::finish(std::vector<Tensor> next, const std::vector<Tensor>& stacked) {
  const std::vector<Trace::CellUse> cells = trace_->cells();
  trace_.reset();
  std::vector<Ref<Cell>> assigned;
  for (const auto& use : cells) {
    const Region::StandIn one{use.placeholder.node(), read_cell(use.cell, where_).node()};
    if (!use.written) {
      same_.push_back(one);
      continue;
    }
    carries_.push_back(one);
    next.push_back(use.current);
    assigned.push_back(use.cell);
  }
  std::vector<Tensor> results = next;
  std::vector<std::size_t> result_of;  // stacked: a tensor requested twice is made once
  for (const Tensor& one : stacked) {
    const auto begin = results.begin() + static_cast<std::ptrdiff_t>(next.size());
    const auto known = std::find_if(begin, results.end(), [&](const Tensor& other) { return other.node() == one.node(); });
    result_of.push_back(static_cast<std::size_t>(known - results.begin()));
    if (known == results.end()) results.push_back(one);
  }
  Results out;
  if (results.empty()) return out;
  if (carries_.empty() && results.size() == 1) results.push_back(results[0]);  // a node with several results has at least two
  std::vector<Region::StandIn> stand_ins = carries_;
  stand_ins.insert(stand_ins.end(), slices_.begin(), slices_.end());
  stand_ins.insert(stand_ins.end(), same_.begin(), same_.end());
  const Region::Closed closed = Region::close(results, stand_ins, carries_.size(), true);
  const auto is_number = [&](std::size_t i) {
    if (closed.parameters[i].outside->op().role() != Role::Scalar) return false;
    const Ref<Node>& parameter = closed.region->parameters()[i];
    const auto& nodes = closed.region->nodes();
    return std::ranges::find(closed.region->results(), parameter) == closed.region->results().end() &&
           std::ranges::all_of(nodes, [&](const auto& node) {
             const LoopOp* const inner = LoopOp::of(node->op());
             for (std::size_t k = 0; k < node->inputs().size(); ++k) {
               const bool takes_numbers = inner ? inner->input(k) == LoopOp::Input::Number : node->op().role() == Role::Elementwise;
               if (node->inputs()[k] == parameter && !takes_numbers) return false;
             }
             return true;
           });
  };
  LoopOp::Form form{.body = closed.region, .inputs = {}, .length = length_, .reverse = reverse_};
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < closed.parameters.size(); ++i) {
    const Region::StandIn& one = closed.parameters[i];
    inputs.emplace_back(one.outside);
    const bool is_slice = std::ranges::find(slices_, one.inside, &Region::StandIn::inside) != slices_.end();
    form.inputs.push_back(i < carries_.size() ? LoopOp::Input::Carry
                          : is_slice          ? LoopOp::Input::Slice
                          : is_number(i)      ? LoopOp::Input::Number
                                              : LoopOp::Input::Same);
  }
  std::vector<Result> kinds;
  for (const auto& result : closed.region->results()) {
    Shape shape = result->shape();
    if (kinds.size() >= carries_.size()) shape.insert(0, length_);
    kinds.push_back({shape, result->dtype()});
  }
  const std::vector<Tensor> parts = make_nodes(make<const ScanOp>(std::move(form)), inputs, kinds, where_);
  out.last.assign(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(carries_.size()));
  for (std::size_t k = 0; k < result_of.size(); ++k) {
    const bool again = std::find(result_of.begin(), result_of.begin() + static_cast<std::ptrdiff_t>(k), result_of[k]) !=
                       result_of.begin() + static_cast<std::ptrdiff_t>(k);
    out.stacks.push_back(again ? graph::identity(parts[result_of[k]], where_) : parts[result_of[k]]);
  }
  for (std::size_t k = 0; k < assigned.size(); ++k) write_cell(assigned[k], out.last[out.last.size() - assigned.size() + k], where_);
  out.last.resize(out.last.size() - assigned.size());
  return out;
}

}  // namespace tegula::ops

namespace tegula {

void add_loop_ops(OpTable& table) { table.add_several<ops::ScanOp>("scan", OpTable::kAnyInputs, LoopOp::Form()); }

}  // namespace tegula
