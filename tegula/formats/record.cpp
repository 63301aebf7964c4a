#include "tegula/formats/record.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/custom_op.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/names.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"

namespace tegula::formats {
namespace {

/// The number of nested gradients of a custom function that a file holds: some gradients (that of solve) use their own function, without end.
constexpr int kOrders = 3;

/// The data shared by all graphs of one file.
class Common {
 public:
  Common(Trace& trace, bool with_gradients, std::string_view op, const Line& line)
      : gradients(with_gradients),
        where(line),
        trace_(trace),
        op_(op) {}

  [[noreturn]] void refuse(const std::string& got, const std::string& expected, const std::string& advice, const Line& line) const {
    throw Error({.op = std::string(op_), .got = got, .expected = expected, .advice = advice, .where = line});
  }

  int constant(const Ref<Node>& node) {
    const auto [found, is_new] = numbers_.emplace(node.get(), static_cast<int>(constants.size()));
    if (is_new) constants.emplace_back(node);
    return found->second;
  }
  /// The number of the Variable that a leaf without a value stands for, or -1.
  int variable(const Node& leaf) const {
    return find([&](const Trace::CellUse& use) { return use.placeholder.node().get() == &leaf; });
  }
  /// The number of the Variable whose new value a node is, or -1.
  int written(const Node& node) const {
    if (node.cell_number() == 0 || !node.cuts() || node.trace() != trace_.id()) return -1;
    return find([&](const Trace::CellUse& use) { return use.written && use.cell->number() == node.cell_number(); });
  }
  /// Made before the function was called: it is the same at all calls.
  bool is_older(const Node& node) const { return node.trace() != trace_.id(); }

  std::vector<Tensor> constants;
  const bool gradients;
  const Line where;

 private:
  template <class Is> int find(Is is) const {
    const auto& cells = trace_.cells();
    const auto found = std::ranges::find_if(cells, is);
    return found == cells.end() ? -1 : static_cast<int>(found - cells.begin());
  }

  Trace& trace_;
  std::string_view op_;
  std::unordered_map<const Node*, int> numbers_;
};

enum class Of : std::uint8_t { Function, Body, Gradient, GradientInBody };

/// One graph: a function's, the body of a loop, the gradient of a custom function.
class Recorder {
 public:
  Recorder(Common& shared, Of of, int order = 0) : shared_(shared), of_(of), order_(order) {}

  void add_input(const Node& node) { inputs_.emplace(&node, inputs_.size()); }
  /// For a gradient: nodes older than `sequence` belong to the graph around it, and are captured.
  void set_oldest(std::uint64_t sequence) { oldest_ = sequence; }
  const std::vector<Ref<Node>>& captured() const { return captured_; }

  /// `roots` and all below them; results may be null.
  StoredGraph record(std::vector<Ref<Node>> roots, std::span<const Ref<Node>> results) {
    collect(std::move(roots));
    // Leaves come first, then ops.
    std::ranges::sort(found_, {}, [&](const auto& node) { return std::pair(is_op(*node), node->sequence()); });
    StoredGraph graph;
    for (const Ref<Node>& node : found_) {
      graph.nodes.push_back(stored(node));
      number_.emplace(node.get(), number_.size());
    }
    for (const Ref<Node>& result : results) graph.outputs.push_back(result ? number(result) : -1);
    return graph;
  }

 private:
  struct Gradient {
    std::shared_ptr<const StoredGraph> graph;
    std::vector<Ref<Node>> captured;
  };

  int number(const Ref<Node>& node) const { return static_cast<int>(number_.at(node.get())); }
  bool is_op(const Node& node) const { return !inputs_.contains(&node) && !node.has_value() && node.op().role() != Role::Leaf; }
  /// A gradient knows no Variables: it gets their values, as all that it captures.
  bool is_outside(const Node& node) const {
    return of_ == Of::Gradient && (node.sequence() < oldest_ || (node.op().role() == Role::Leaf && shared_.variable(node) >= 0));
  }

  void collect(std::vector<Ref<Node>> stack) {
    std::unordered_set<const Node*> seen;
    while (!stack.empty()) {
      const Ref<Node> node = stack.back();
      stack.pop_back();
      if (!seen.insert(node.get()).second) continue;
      if (!inputs_.contains(node.get()) && !node->has_value() && is_outside(*node)) {
        add_input(*node);
        captured_.push_back(node);
      }
      if (of_ == Of::Function && is_op(*node) && shared_.is_older(*node)) {
        const Trace::Pause outside;
        evaluate(std::span(&node, 1), shared_.where);
      }
      found_.push_back(node);
      if (!is_op(*node)) continue;
      stack.insert(stack.end(), node->inputs().begin(), node->inputs().end());
      if (const CustomOp* const custom = CustomOp::of(node->op())) {
        const Gradient& gradient = gradients_[node.get()] = gradient_of(*node, *custom);
        stack.insert(stack.end(), gradient.captured.begin(), gradient.captured.end());
      }
    }
  }

  /// The graph that the function's own gradient builds.
  Gradient gradient_of(const Node& node, const CustomOp& custom) {
    if (!shared_.gradients || order_ >= kOrders || !is_float(node.dtype())) return {};
    const PrecisionScope precision(node.precision());
    const bool in_body = of_ == Of::Body || of_ == Of::GradientInBody;
    Recorder inner(shared_, in_body ? Of::GradientInBody : Of::Gradient, order_ + 1);
    const auto stand_in = [&](const Node& like) {
      Tensor leaf = make_node(leaf_op(), {}, like.shape(), like.dtype(), like.origin().where);
      inner.add_input(*leaf.node());
      return leaf;
    };
    std::vector<Tensor> inputs;
    for (const Ref<Node>& input : node.inputs().subspan(1)) inputs.push_back(stand_in(*input));
    const Tensor y = stand_in(node), dy = stand_in(node);
    inner.set_oldest(inputs.empty() ? y.node()->sequence() : inputs[0].node()->sequence());
    std::vector<Tensor> parts;
    try {
      parts = custom.vjp()(inputs, y, dy);
    } catch (const Error&) {  // it has none: asking for it is an error later
      return {};
    }
    if (parts.size() != inputs.size()) return {};
    std::vector<Ref<Node>> roots, results;
    for (const Tensor& part : parts) {
      results.push_back(part.node());
      if (part.defined()) roots.push_back(part.node());
    }
    auto graph = std::make_shared<const StoredGraph>(inner.record(roots, results));
    return {std::move(graph), inner.captured()};
  }

  StoredGraph body_of(const Region& region) {
    Recorder inner(shared_, Of::Body, order_);
    std::vector<Ref<Node>> roots = region.parameters();
    for (const Ref<Node>& parameter : region.parameters()) inner.add_input(*parameter);
    for (const auto* list : {&region.nodes(), &region.results()}) roots.insert(roots.end(), list->begin(), list->end());
    return inner.record(roots, region.results());
  }

  StoredNode stored(const Ref<Node>& node) {
    StoredNode out{.origin = node->origin()};
    out.results = {{node->shape(), node->dtype()}};
    if (const auto found = inputs_.find(node.get()); found != inputs_.end()) {
      out.kind = StoredNode::Kind::Input;
      out.index = static_cast<int>(found->second);
      return out;
    }
    if (node->has_value()) {
      out.kind = StoredNode::Kind::Constant;
      out.index = shared_.constant(node);
      return out;
    }
    if (node->op().role() == Role::Leaf) {
      out.kind = StoredNode::Kind::Variable;
      out.index = shared_.variable(*node);
      if (out.index < 0 || of_ != Of::Function) refuse_leaf(*node);
      return out;
    }
    if (!node->results().empty()) out.results.assign(node->results().begin(), node->results().end());
    out.op = node->op_ref();
    out.several = !node->results().empty();
    out.precision = node->precision();
    out.zeros = node->zeros();
    for (const Ref<Node>& input : node->inputs()) out.in.push_back(number(input));
    if (of_ == Of::Function) out.writes = shared_.written(*node);
    if (const LoopOp* const loop = LoopOp::of(node->op())) out.body = std::make_shared<const StoredGraph>(body_of(loop->body()));
    if (const auto found = gradients_.find(node.get()); found != gradients_.end()) {
      out.gradient = found->second.graph;
      for (const Ref<Node>& one : found->second.captured) {
        if (!number_.contains(one.get()))
          shared_.refuse("the custom function " + std::string(node->op().name()) + ", whose gradient reads what was made after it",
                         "a gradient that is made of the function's inputs and of what was there before",
                         "save_graph(path, {.gradients = false}, f, …)", node->origin().where);
        out.captured.push_back(number(one));
      }
    }
    return out;
  }

  [[noreturn]] void refuse_leaf(const Node& leaf) const {
    if (of_ == Of::GradientInBody)
      shared_.refuse("a custom function in the body of a loop whose gradient reads a tensor that is neither input nor result of it",
                     "one whose gradient is made of its inputs, its result and numbers", "make the tensor an input of the custom function",
                     leaf.origin().where);
    shared_.refuse("a tensor of another function's trace", "arguments, Variables and tensors with values",
                   "return tensors from a jit-ed function instead of storing them", leaf.origin().where);
  }

  Common& shared_;
  Of of_;
  int order_;
  std::uint64_t oldest_ = 0;
  std::unordered_map<const Node*, std::size_t> inputs_, number_;
  std::unordered_map<const Node*, Gradient> gradients_;
  std::vector<Ref<Node>> captured_, found_;
};

}  // namespace

Recording record(std::span<const Result> arguments, const Body& body, bool gradients, const Line& where, std::string_view op) {
  Recording out;
  Trace trace(where);
  Common shared(trace, gradients, op, where);
  Recorder recorder(shared, Of::Function);
  std::vector<Tensor> placeholders;
  for (const Result& argument : arguments) {
    placeholders.push_back(trace.argument(argument.shape, argument.dtype));
    recorder.add_input(*placeholders.back().node());
  }
  const compile::Results results = body(placeholders);
  std::vector<Ref<Node>> outputs, roots;
  for (const Tensor& result : results.tensors) outputs.push_back(result.node());
  roots = outputs;
  for (const auto& use : trace.cells())
    if (use.written) roots.push_back(use.current.node());
  roots.insert(roots.end(), trace.kept().begin(), trace.kept().end());
  out.graph = recorder.record(std::move(roots), outputs);
  for (const auto& use : trace.cells()) out.cells.push_back(use.cell);
  out.constants = std::move(shared.constants);
  return out;
}

std::vector<std::string> variable_names(const std::vector<Ref<Cell>>& cells, const Parameters& given, const Parameters& of_module) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (const Ref<Cell>& cell : cells) {
    std::string name;
    for (const Parameters* list : {&given, &of_module}) {
      const auto found = std::ranges::find(*list, cell, &Parameter::cell);
      if (name.empty() && found != list->end()) name = found->name;
    }
    if (name.empty()) name = variable_name(*cell->value().node());
    if (name.empty()) name = "variable." + std::to_string(out.size());
    for (int copy = 2; !taken.insert(name).second; ++copy) name += "." + std::to_string(copy);
    out.push_back(name);
  }
  return out;
}

}  // namespace tegula::formats
