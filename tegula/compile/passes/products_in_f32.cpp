#include "tegula/compile/passes/products_in_f32.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "tegula/compile/passes/materialize.h"
#include "tegula/graph/structural.h"
#include "tegula/runtime/operand_layout.h"

namespace tegula::compile {
namespace {

using runtime::PricesHalves;

/// Sets of items, each known by one of them.
class Sets {
 public:
  explicit Sets(std::size_t count) : above_(count) {
    for (std::size_t i = 0; i < count; ++i) above_[i] = static_cast<int>(i);
  }
  int find(int i) {
    while (above(i) != i) i = above(i) = above(above(i));
    return i;
  }
  void unite(int a, int b) { above(find(a)) = find(b); }

 private:
  int& above(int i) { return above_[static_cast<std::size_t>(i)]; }
  std::vector<int> above_;
};

bool would_be_half(const Item& item) {
  const bool multiplies = item.role() == Role::Library || item.role() == Role::Kernel;
  return multiplies && item.op->numerics() == Numerics::TensorCore && item.dtype == f32 && is_half(storage_of(item.precision));
}

/// What may lie in memory as a half between two products.
bool hands_on(const Item& item) {
  if (item.role() == Role::View || item.is_part()) return true;
  return item.op->numerics() == Numerics::Either && item.dtype == f32 && is_half(storage_of(item.precision));
}

/// What a group takes, and what of it is cast.
struct Group {
  PricesHalves::Seconds products;
  std::set<int> cast;   // leaves that are, in each run
  double cast_elements = 0;
  bool stays_half = false;

  bool is_faster_in_f32(const runtime::StepCosts& costs) const {
    constexpr double kBytes = 6;  // an f32 read, a half written
    const double casts = cast.empty() ? 0 : costs.launch_seconds + kBytes * cast_elements / costs.bytes_per_second;
    return !stays_half && products.in_f32 < products.in_halves + casts;
  }
};

/// The groups of a graph, each known by one of its items.
class Groups {
 public:
  Groups(const Graph& graph, const runtime::Device& device, const PricesHalves& prices)
      : graph_(graph), device_(device), prices_(prices), sets_(graph.items.size()) {
    std::unordered_map<int, int> readers;  // of leaves that are cast in each run: a product
    for (int i = 0; i < graph.size(); ++i) {
      if (!joins(graph[i])) continue;
      for (const int input : graph[i].inputs) {
        if (joins(graph[input]) && !is_read_as_it_is(input) && !is_repeated(i, input)) sets_.unite(i, input);
        if (!would_be_half(graph[i]) || !changes(below(input))) continue;
        const auto [reader, is_first] = readers.try_emplace(below(input), i);
        if (!is_first) sets_.unite(i, reader->second);
      }
    }
    for (int i = 0; i < graph.size(); ++i) add(i);
  }

  const Group& of(int i) { return groups_[sets_.find(i)]; }

 private:
  static bool joins(const Item& item) { return would_be_half(item) || hands_on(item); }
  // Halves of somebody's own, which a group in f32 would be cast for.
  bool narrows(const Item& item) const { return item.op == cast_op() && is_half(item.dtype) && !is_half(graph_[item.inputs[0]].dtype); }
  bool widens(const Item& item) const { return item.op == cast_op() && !is_half(item.dtype) && is_half(graph_[item.inputs[0]].dtype); }
  int below(int i) const { return access_of(graph_, i).base; }
  /// A leaf of f32 that is another one in each run.
  bool changes(int i) const {
    const Item& item = graph_[i];
    return item.role() == Role::Leaf && item.dtype == f32 && !graph_.leaves[static_cast<std::size_t>(item.slot)].steady;
  }
  bool is_read_as_it_is(int i) const {
    const Role role = graph_[below(i)].role();
    return role == Role::Leaf || role == Role::Scalar || role == Role::Index;
  }
  bool is_repeated(int i, int input) const {
    return graph_[i].role() == Role::Elementwise && numel(graph_[input].shape) < numel(graph_[i].shape);
  }

  void add(int i) {
    const Item& item = graph_[i];
    if (narrows(item)) groups_[sets_.find(item.inputs[0])].stays_half = true;
    if (!joins(item)) return;
    for (const int input : item.inputs) {
      if (widens(graph_[below(input)])) groups_[sets_.find(i)].stays_half = true;
    }
    if (!would_be_half(item)) return;
    Group& group = groups_[sets_.find(i)];
    if (item.precision == Precision::fp8) group.stays_half = true;  // what is rounded to codes stays so
    const PricesHalves::Seconds seconds = price(item);
    group.products.in_f32 += seconds.in_f32, group.products.in_halves += seconds.in_halves;
    for (const int input : item.inputs) {
      const int leaf = below(input);
      if (changes(leaf) && group.cast.insert(leaf).second) group.cast_elements += static_cast<double>(numel(graph_[leaf].shape));
    }
  }

  PricesHalves::Seconds price(const Item& item) const {
    if (item.role() != Role::Library || !item.results.empty()) return {};
    const auto& op = item.as<LibraryOp>();
    if (op.multiplies_matrices()) {
      const auto layout = [&](int k) {
        const int input = item.inputs[static_cast<std::size_t>(k)];
        Layout lies = access_of(graph_, input).layout;
        lies.offset = 0;
        return op.accepts(device_, k, lies) ? lies : Layout::dense(graph_[input].shape);
      };
      return prices_.price_product({.dtype = f32, .a = layout(0), .b = layout(1), .c = layout_of(item)});
    }
    std::vector<Shape> shapes;
    auto elements = static_cast<double>(numel(item.shape));
    for (const int input : item.inputs) shapes.push_back(graph_[input].shape), elements += static_cast<double>(numel(shapes.back()));
    return prices_.price_convolution(op.operations(shapes, item.shape), elements);
  }

  const Graph& graph_;
  const runtime::Device& device_;
  const PricesHalves& prices_;
  Sets sets_;
  std::unordered_map<int, Group> groups_;
};

}  // namespace

bool halves_lose(const Graph& graph, const runtime::Device& device) {
  const auto* const prices = dynamic_cast<const PricesHalves*>(&device);
  if (!prices) return false;
  double of_products = 0, of_convolutions = 0;
  for (const Item& item : graph.items) {
    if (!would_be_half(item) || item.role() != Role::Library || !item.results.empty()) continue;
    if (item.precision == Precision::fp8) return false;  // what is rounded to codes stays so
    const auto& op = item.as<LibraryOp>();
    std::vector<Shape> shapes;
    for (const int input : item.inputs) shapes.push_back(graph[input].shape);
    if (op.multiplies_matrices()) of_products += op.operations(shapes, item.shape);
    else if (prices->converts_convolutions(storage_of(item.precision))) of_convolutions += op.operations(shapes, item.shape);
  }
  return of_convolutions > of_products;
}

std::vector<bool> products_in_f32(const Graph& graph, const runtime::Device& device) {
  std::vector<bool> out(graph.items.size());
  const auto* const prices = dynamic_cast<const PricesHalves*>(&device);
  if (!prices || std::ranges::none_of(graph.items, would_be_half)) return out;
  Groups groups(graph, device, *prices);
  const runtime::StepCosts costs = device.costs();
  for (int i = 0; i < graph.size(); ++i) {
    if (would_be_half(graph[i])) out[static_cast<std::size_t>(i)] = groups.of(i).is_faster_in_f32(costs);
  }
  return out;
}

}  // namespace tegula::compile
