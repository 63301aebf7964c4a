#include "tegula/compile/passes/dtypes.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>

#include "tegula/compile/description.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

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
  int& above(int i) { return above_[index(i)]; }
  std::vector<int> above_;
};

bool would_be_half(const Item& item) {
  const bool multiplies = item.role() == Role::Library || item.role() == Role::Kernel;
  return multiplies && item.op->numerics() == Numerics::TensorCore && item.dtype == f32 && is_half(storage_of(item.precision));
}

/// True if the item may be stored as a half between two matmuls.
bool hands_on(const Item& item) {
  if (item.shows_input() || item.is_part()) return true;
  return item.op->numerics() == Numerics::Either && item.dtype == f32 && is_half(storage_of(item.precision));
}

/// How the device would compute the call in halves.
std::vector<runtime::Candidate> ways_of_halves(const Graph& graph, const Item& item, const runtime::Device& device) {
  Item halves = item;
  halves.dtype = storage_of(item.precision);
  return device.candidates(description_of(graph, halves, device));
}
runtime::CallDescription best(const std::vector<runtime::Candidate>& ways) {
  return ways.empty() ? runtime::CallDescription() : ways.front().description;
}
bool is_f32(const runtime::CallDescription& call) {
  if (const auto* const product = std::get_if<runtime::Matmul>(&call)) return product->dtype() == f32;
  const auto* const convolution = std::get_if<runtime::Convolution>(&call);
  return convolution && convolution->dtype() == f32;
}

/// The seconds of a call in f32 and in halves.
struct Price {
  double in_f32 = 0, in_halves = 0;
};

/// The cost of a component, and its casts.
struct Component {
  Price products;
  std::set<int> cast;   // leaves that are cast in each run
  double cast_elements = 0;
  bool stays_half = false;

  bool is_faster_in_f32(const runtime::Costs& costs) const {
    constexpr double kBytes = 6;  // an f32 read, a half written
    const double casts = cast.empty() ? 0 : costs.launch_seconds + kBytes * cast_elements / costs.bytes_per_second;
    return !stays_half && products.in_f32 < products.in_halves + casts;
  }
};

/// The components of a graph, each known by one of its items.
class Components {
 public:
  Components(const Graph& graph, const runtime::Device& device) : graph_(graph), device_(device), sets_(graph.items.size()) {
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

  const Component& of(int i) { return components_[sets_.find(i)]; }

 private:
  static bool joins(const Item& item) { return would_be_half(item) || hands_on(item); }
  // Halves of somebody's own, which a component in f32 would be cast for.
  bool narrows(const Item& item) const { return item.op == cast_op() && is_half(item.dtype) && !is_half(graph_[item.inputs[0]].dtype); }
  bool widens(const Item& item) const { return item.op == cast_op() && !is_half(item.dtype) && is_half(graph_[item.inputs[0]].dtype); }
  int below(int i) const { return access_of(graph_, i).base; }
  /// A leaf of f32 that is another one in each run.
  bool changes(int i) const {
    const Item& item = graph_[i];
    return item.role() == Role::Leaf && item.dtype == f32 && !graph_.leaf(item).steady;
  }
  bool is_read_as_it_is(int i) const { return graph_[below(i)].role() == Role::Leaf || !graph_[below(i)].in_memory(); }
  bool is_repeated(int i, int input) const {
    return graph_[i].role() == Role::Elementwise && numel(graph_[input].shape) < numel(graph_[i].shape);
  }

  void add(int i) {
    const Item& item = graph_[i];
    if (narrows(item)) components_[sets_.find(item.inputs[0])].stays_half = true;
    if (!joins(item)) return;
    for (const int input : item.inputs) {
      if (widens(graph_[below(input)])) components_[sets_.find(i)].stays_half = true;
    }
    if (!would_be_half(item)) return;
    Component& component = components_[sets_.find(i)];
    if (item.precision == Precision::fp8) component.stays_half = true;  // what is rounded to codes stays so
    const Price seconds = price(item);
    component.products.in_f32 += seconds.in_f32, component.products.in_halves += seconds.in_halves;
    for (const int input : item.inputs) {
      const int leaf = below(input);
      if (changes(leaf) && component.cast.insert(leaf).second) component.cast_elements += static_cast<double>(numel(graph_[leaf].shape));
    }
  }

  /// A device that does not tell has halves that gain.
  Price price(const Item& item) const {
    if (item.role() != Role::Library || !item.results.empty()) return {};
    std::optional<double> in_f32, in_halves;
    for (const runtime::Candidate& way : ways_of_halves(graph_, item, device_)) {
      std::optional<double>& seconds = is_f32(way.description) ? in_f32 : in_halves;
      if (!seconds) seconds = way.seconds;
    }
    if (!in_f32 || !in_halves) return {.in_f32 = std::numeric_limits<double>::infinity()};
    return {*in_f32, *in_halves};
  }

  const Graph& graph_;
  const runtime::Device& device_;
  Sets sets_;
  std::unordered_map<int, Component> components_;
};

}  // namespace

bool halves_lose(const Graph& graph, const runtime::Device& device) {
  double of_products = 0, of_convolutions = 0;
  for (const Item& item : graph.items) {
    if (!would_be_half(item) || item.role() != Role::Library || !item.results.empty()) continue;
    if (item.precision == Precision::fp8) return false;  // what is rounded to codes stays so
    const auto& op = item.as<LibraryOp>();
    std::vector<Shape> shapes;
    for (const int input : item.inputs) shapes.push_back(graph[input].shape);
    if (op.multiplies_matrices()) of_products += op.operations(shapes, item.shape);
    else if (is_f32(best(ways_of_halves(graph, item, device)))) of_convolutions += op.operations(shapes, item.shape);
  }
  return of_convolutions > of_products;
}

std::vector<bool> products_in_f32(const Graph& graph, const runtime::Device& device) {
  std::vector<bool> out(graph.items.size());
  if (std::ranges::none_of(graph.items, would_be_half)) return out;
  Components components(graph, device);
  const runtime::Costs& costs = device.costs();
  for (int i = 0; i < graph.size(); ++i) {
    if (would_be_half(graph[i])) out[index(i)] = components.of(i).is_faster_in_f32(costs);
  }
  return out;
}

}  // namespace tegula::compile
