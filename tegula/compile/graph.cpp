#include "tegula/compile/graph.h"

#include <algorithm>
#include <bit>
#include <typeinfo>
#include <unordered_map>

#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/core/rounded.h"
#include "tegula/graph/below.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/graph/slices.h"
#include "tegula/graph/structural.h"
#include "tegula/runtime/call_description.h"
#include "tegula/tile/builder.h"

namespace tegula::compile {
namespace {

class CopyOp final : public ElementwiseOp {
 public:
  std::string_view name() const override { return "copy"; }
  tile::Value emit(tile::Builder&, std::span<const tile::Value> x, DType) const override { return x[0]; }
  double reference(std::span<const double> x) const override { return x[0]; }
};

class ZerosOp final : public ElementwiseOp {
 public:
  std::string_view name() const override { return "zeros"; }
  tile::Value emit(tile::Builder& builder, std::span<const tile::Value>, DType dtype) const override {
    const DType computed = tile::compute_type(dtype);
    return is_float(computed) ? builder.constant(0.0, computed) : builder.constant(std::int64_t{0}, computed);
  }
  double reference(std::span<const double>) const override { return 0; }
};

}  // namespace

// A number stays the number that was written, also once it has a value: its dtype may hold less of it (-1 as u8, 0.1 as bf16).
bool is_leaf(const Node& node) { return node.op().role() == Role::Leaf || (node.has_value() && node.op().role() != Role::Scalar); }

void derive_constants(const Graph& graph, std::span<const std::uint64_t> given, std::vector<std::uint64_t>& out) {
  out.assign(given.begin(), given.end());
  for (const Expression& derived : graph.derived) out.push_back(std::bit_cast<std::uint64_t>(number_of(derived, out)));
}

const Ref<const Op>& copy_op() {
  static const Ref<const Op> op(new CopyOp);
  return op;
}

const Ref<const Op>& zeros_op() {
  static const Ref<const Op> op(new ZerosOp);
  return op;
}

Reading read(std::span<const Node* const> roots) {
  Reading out;
  out.order = nodes_below({roots.begin(), roots.end()}, is_leaf);
  std::unordered_map<const Node*, std::uint64_t> number;
  number.reserve(out.order.size());
  out.key.reserve(out.order.size() * 8);
  out.uses.resize(out.order.size());
  for (const Node* node : out.order) {
    out.first_input.push_back(out.inputs.size());
    number.emplace(node, number.size());
    if (is_leaf(*node)) {
      out.key.push_back(~std::uint64_t{0});
      out.leaves.push_back(node);
      if (node->has_value()) append(out.key, node->layout().strides);
    } else {
      const Op& op = node->op();
      append(out.key, op);
      if (node->op().role() == Role::Scalar) {
        out.constants.push_back(static_cast<const ScalarOp&>(node->op()).value().bits(node->dtype()));
        out.constant_nodes.push_back(node);
      }
      for (const auto& input : node->inputs()) {
        const std::uint64_t from = number.at(input.get());
        out.key.push_back(from);
        out.inputs.push_back(from);
        ++out.uses[from];
      }
    }
    // A leaf is what it is; only what is computed has a precision.
    const auto precision = is_leaf(*node) ? Precision::fp32 : node->precision();
    const std::uint64_t further = is_leaf(*node) || node->results().empty() ? 0 : node->results().size() - 1;
    out.key.push_back(static_cast<std::uint64_t>(node->dtype()) | static_cast<std::uint64_t>(precision) << 8 | further << 16);
    append(out.key, node->shape());
    for (std::size_t k = 1; k <= further; ++k) {
      out.key.push_back(static_cast<std::uint64_t>(node->results()[k].dtype));
      append(out.key, node->results()[k].shape);
    }
  }
  out.first_input.push_back(out.inputs.size());
  for (const Node* root : roots) out.key.push_back(number.at(root));
  return out;
}

Graph flatten(const Reading& reading, std::span<const Node* const> outputs, std::span<const std::pair<const Node*, const Node*>> updates) {
  Graph graph;
  graph.items.reserve(reading.order.size());
  std::unordered_map<const Node*, int> number;  // of those that leave
  for (const Node* output : outputs) number.emplace(output, -1);
  for (const auto& [leaf, value] : updates) number.emplace(leaf, -1), number.emplace(value, -1);
  for (const Node* node : reading.order) {
    Item item{.op = node->op_ref(),
              .inputs = {},
              .shape = node->shape(),
              .dtype = node->dtype(),
              .results = {node->results().begin(), node->results().end()},
              .rounds = node->results().empty() && is_narrow_float(node->dtype()),
              .precision = node->precision(),
              .origin = node->origin(),
              .order = {}};
    if (is_leaf(*node)) {
      item.op = leaf_op();
      item.slot = static_cast<int>(graph.leaves.size());
      Layout layout = node->has_value() ? node->layout() : Layout::dense(node->shape());
      layout.offset = 0;  // bindings point at the first element
      graph.leaves.push_back({node->shape(), node->dtype(), layout});
    } else {
      if (item.role() == Role::Scalar) {
        item.slot = static_cast<int>(graph.constants.size());
        graph.constants.push_back(tile::compute_type(node->dtype()));
      }
      const auto inputs = reading.inputs_of(graph.items.size());
      item.inputs.assign(inputs.begin(), inputs.end());
    }
    item.node = graph.size();
    if (const auto leaves = number.find(node); leaves != number.end()) leaves->second = graph.size();
    graph.items.push_back(std::move(item));
  }
  for (const Node* output : outputs) graph.outputs.push_back(number.at(output));
  for (const auto& [leaf, value] : updates) graph.updates.push_back({graph[number.at(leaf)].slot, number.at(value)});
  return graph;
}

std::size_t bytes_of(const Item& item) { return static_cast<std::size_t>(numel(item.shape)) * size_of(item.dtype); }

int producer_of(const Graph& graph, int i) { return graph[i].is_part() ? graph[i].inputs[0] : i; }
int result_of(const Graph& graph, int i) { return graph[i].is_part() ? graph[i].as<PartOp>().index() : 0; }

std::vector<int> items_of_leaves(const Graph& graph) {
  std::vector<int> items(graph.leaves.size(), -1);
  for (int i = graph.size(); i-- > 0;)
    if (graph[i].role() == Role::Leaf) items[index(graph[i].slot)] = i;
  return items;
}

bool has_check(const Item& item) {
  if (item.role() == Role::Elementwise) return item.as<ElementwiseOp>().has_check();
  if (item.role() == Role::Library) return item.as<LibraryOp>().has_check();
  return item.role() == Role::Kernel && item.as<KernelOp>().has_check();
}

std::optional<runtime::Expression::Source> read_by_epilogue(const Item& item, std::size_t k) {
  const std::vector<runtime::Expression::Source> reads = item.epilogue->reads();
  const std::size_t own = item.inputs.size() - reads.size();
  return k < own ? std::nullopt : std::optional(reads[k - own]);
}

std::string to_string(const Graph& graph) {
  std::string text;
  for (int i = 0; i < graph.size(); ++i) {
    const Item& item = graph[i];
    text += "%" + std::to_string(i) + " = " + std::string(item.op->name());
    if (item.role() == Role::Leaf || item.role() == Role::Scalar) text += "#" + std::to_string(item.slot);
    for (std::size_t k = 0; k < item.inputs.size(); ++k) text += (k ? ", %" : " %") + std::to_string(item.inputs[k]);
    // A scalar's value is an argument of the run, not part of the graph.
    if (const std::string attributes = description(*item.op); !attributes.empty() && item.role() != Role::Scalar)
      text += " {" + attributes + "}";
    if (!item.epilogue->is_empty()) text += " epilogue" + runtime::to_string(*item.epilogue);
    if (item.packed->blocks) text += " weight in blocks";
    if (item.arithmetic == runtime::Arithmetic::TF32) text += " tf32";
    if (item.prologue->input >= 0) text += " computes input " + std::to_string(item.prologue->input);
    text += " : " + std::string(name(item.dtype)) + tegula::to_string(item.shape);
    for (std::size_t k = 1; k < item.results.size(); ++k)
      text += ", " + std::string(name(item.results[k].dtype)) + tegula::to_string(item.results[k].shape);
    if (!item.order.empty()) text += " order " + tegula::to_string(item.order);
    if (item.within->whole >= 0)
      text += " within %" + std::to_string(item.within->whole) + " from " + std::to_string(item.within->layout.offset) + " on, strides " +
              tegula::to_string(item.within->layout.strides);
    if (const std::string place = tegula::to_string(item.origin.where); !place.empty()) text += "  // " + place;
    if (item.origin.path) text += " " + *item.origin.path;
    text += "\n";
  }
  text += "outputs";
  for (int output : graph.outputs) text += " %" + std::to_string(output);
  for (const auto& update : graph.updates) text += ", leaf#" + std::to_string(update.leaf) + " <- %" + std::to_string(update.item);
  return text + "\n";
}

namespace {

[[noreturn]] void throw_broken(const Graph& graph, int i, const std::string& when, const std::string& expected) {
  throw Error({.op = "compile",
               .got = "%" + std::to_string(i) + " " + std::string(graph[i].op->name()) + " " + when,
               .expected = expected,
               .advice = "this is a bug in Tegula; TEGULA_PRINT=all shows every stage",
               .where = graph[i].origin.where});
}

}  // namespace

void verify(const Graph& graph, std::string_view after_pass) {
  const auto fail = [&](int i, const std::string& what) { throw_broken(graph, i, "after pass " + std::string(after_pass), what); };
  for (int i = 0; i < graph.size(); ++i) {
    const Item& item = graph[i];
    const Role role = item.role();
    const bool shows = shows_input(role);
    for (int input : item.inputs) {
      if (input < 0 || input >= i) fail(i, "inputs to come earlier");
      if (role != Role::Part && !graph[input].results.empty()) fail(i, "parts, and only they, to read what has several results");
    }
    if (role == Role::Leaf && (item.slot < 0 || item.slot >= static_cast<int>(graph.leaves.size()))) fail(i, "a leaf's number");
    if (role == Role::Scalar && (item.slot < 0 || item.slot >= static_cast<int>(graph.constants.size()))) fail(i, "a constant's number");
    if (role == Role::Elementwise) {
      for (int input : item.inputs) {
        if (graph[input].shape != item.shape && graph[input].shape.rank() != 0)
          fail(i, "elementwise inputs of the result's shape, or scalars");
      }
    }
    if (shows && item.inputs.empty()) fail(i, "a view of something");
    if (role == Role::View && item.inputs.size() > 1) fail(i, "a view of one item");
    if (shows && item.dtype != graph[item.inputs[0]].dtype) fail(i, "a view of the dtype it looks at");
    if (item.within->whole >= 0 && (item.within->whole <= i || item.within->whole >= graph.size() || !graph[item.within->whole].assembled))
      fail(i, "a join behind it to lie in");
    if (role == Role::Part) {
      const auto& results = graph[item.inputs[0]].results;
      const auto k = static_cast<std::size_t>(item.as<PartOp>().index());
      if (k >= results.size() || results[k].shape != item.shape || results[k].dtype != item.dtype)
        fail(i, "a result of the op that it is a part of");
    }
    if (role == Role::Library) {
      for (std::size_t k = 0; k < item.inputs.size(); ++k) {
        const DType dtype = graph[item.inputs[k]].dtype;
        const bool is_number = graph[item.inputs[k]].role() == Role::Scalar;  // materialize stores it as it is computed
        if (!is_number && dtype != item.as<LibraryOp>().input_dtype(static_cast<int>(k), item.dtype) && dtype != i64)
          fail(i, "operands of the call's dtypes, or an index");
      }
    }
  }
  if (!graph.places.empty() && graph.places.size() != graph.items.size()) fail(graph.size() - 1, "a place for each item");
  for (int i = 0; i < static_cast<int>(graph.places.size()) && checking(Check::Plan); ++i) {
    const Place now = place_of(graph, graph.places, i);
    if (now.value != graph.place(i).value || now.layout != graph.place(i).layout || now.waits != graph.place(i).waits)
      fail(i, "the place that follows from its inputs");
  }
  for (int output : graph.outputs) {
    if (output < 0 || output >= graph.size()) fail(0, "outputs to exist");
    if (!graph[output].results.empty()) fail(output, "results that are values");
  }
}

void verify_overwritten(const Graph& graph) {
  std::vector<int> updated(graph.items.size(), -1);  // of each root, the leaf whose new value its chain is
  for (const Graph::Update& update : graph.updates) {
    const int root = graph.place(update.item).spot.bottom;
    updated[index(root)] = update.leaf;
  }
  for (int i = 0; i < graph.size(); ++i) {
    const int root = graph.place(i).spot.bottom;
    if (root == i || graph[i].shows_input()) continue;
    if (graph[i].dtype != graph[root].dtype || numel(graph[i].shape) != numel(graph[root].shape))
      throw_broken(graph, i, "written over " + std::string(name(graph[root].dtype)) + tegula::to_string(graph[root].shape),
                   "a value of its own " + std::string(name(graph[i].dtype)) + tegula::to_string(graph[i].shape));
    if (graph[root].role() != Role::Leaf || updated[index(root)] == graph[root].slot) continue;
    throw_broken(graph, i, "written over leaf#" + std::to_string(graph[root].slot) + ", which the graph does not update",
                 "a value that the graph computes, or a copy of the leaf");
  }
}

void remove_dead(Graph& graph) {
  std::vector<bool> live(graph.items.size());
  for (int output : graph.outputs) live[index(output)] = true;
  for (const auto& update : graph.updates) live[index(update.item)] = true;
  for (int i = graph.size() - 1; i >= 0; --i) {
    if (!live[index(i)]) continue;
    for (int input : graph[i].inputs) live[index(input)] = true;
  }
  // Items before the first dead one keep their numbers.
  const auto first_dead = static_cast<int>(std::ranges::find(live, false) - live.begin());
  if (first_dead == graph.size()) return;
  std::vector<int> renumbered(graph.items.size(), -1);
  const auto renumber = [&](int& i) { i = renumbered[index(i)]; };
  for (int i = 0; i < first_dead; ++i) renumbered[index(i)] = i;
  int count = first_dead;
  for (int i = first_dead + 1; i < graph.size(); ++i) {
    if (!live[index(i)]) continue;
    std::ranges::for_each(graph[i].inputs, renumber);
    if (!graph.places.empty()) graph.places[index(count)] = std::move(graph.places[index(i)]);
    renumbered[index(i)] = count;
    graph[count++] = std::move(graph[i]);
  }
  graph.items.erase(graph.items.begin() + count, graph.items.end());
  std::ranges::for_each(graph.outputs, renumber);
  for (auto& update : graph.updates) renumber(update.item);
  if (graph.places.empty()) return;
  graph.places.resize(graph.items.size());
  for (Place& place : graph.places) renumber(place.value), renumber(place.spot.root), renumber(place.spot.bottom);
}

}  // namespace tegula::compile
