#include "tegula/compile/passes/simplify.h"

#include <algorithm>
#include <bit>
#include <span>

#include "tegula/compile/users.h"
#include "tegula/compile/view_axes.h"
#include "tegula/graph/structural.h"
#include "tegula/tile/ir.h"

namespace tegula::compile {
namespace {

bool is_identity(const Graph& graph, const Item& item) {
  const auto& view = item.as<ViewOp>();
  const Shape& from = graph[item.inputs[0]].shape;
  if (item.shape != from) return false;
  const auto result = view.apply(marked(from));
  const auto axes = result ? axes_of(from, *result) : std::nullopt;
  if (!axes) return false;
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i] != 1 && (*axes)[index(i)] != i) return false;
  }
  return true;
}

// A view of a view that only brings the axes of what lies below the two into another order looks at that at once: a transpose of a
// transpose (gradients are full of them) is a tensor of its own for the user and nothing here.
void compose(const Graph& graph, Item& item) {
  const Item& inner = graph[item.inputs[0]];
  if (inner.role() != Role::View) return;
  const Shape& from = graph[inner.inputs[0]].shape;
  if (from.rank() != item.shape.rank()) return;
  const auto middle = inner.as<ViewOp>().apply(marked(from));
  const auto seen = middle ? item.as<ViewOp>().apply(*middle) : std::nullopt;
  const auto axes = seen ? axes_of(from, *seen) : std::nullopt;
  if (!axes) return;
  Dims order;
  int single = -1;  // the axes of size 1 in the order in which they come
  for (int i = 0; i < item.shape.rank(); ++i) {
    int axis = (*axes)[index(i)];
    if (axis < 0) {
      if (item.shape[i] != 1) return;
      do ++single;
      while (single < from.rank() && from[single] != 1);
      if (single == from.rank()) return;
      axis = single;
    }
    order.push_back(axis);
  }
  item.op = permute_op(order);
  item.inputs[0] = inner.inputs[0];
}

/// The transpose of a product aᵀ b that nothing else reads is the product bᵀ a, which lies as it is wanted: the gradient of a weight that lies (in, out). The old
/// product's item becomes bᵀ.
bool turn_product(Graph& graph, const Users& users, Item& item) {
  if (!transposes(graph, item)) return false;
  const int below = item.inputs[0];
  Item& product = graph[below];
  if (!product.multiplies() || product.inputs.size() != 2 || !product.results.empty() || !users.once(below)) return false;
  if (!transposes(graph, graph[product.inputs[0]]) || graph[product.inputs[1]].shape.rank() != 2) return false;
  const int a = graph[product.inputs[0]].inputs[0], b = product.inputs[1];
  item.op = product.op;
  item.origin = product.origin;
  item.precision = product.precision;
  item.inputs = {below, a};
  product.op = permute_op({1, 0});
  product.shape = Shape{graph[b].shape[1], graph[b].shape[0]};
  product.dtype = graph[b].dtype;
  product.inputs = {b};
  product.node = -1;
  return true;
}

bool turn_products(Graph& graph) {
  const Users users(graph);
  bool any = false;
  for (Item& item : graph.items) any = turn_product(graph, users, item) || any;
  return any;
}

/// Fills `words` with the key of an item: items with equal keys are equal.
void identify(const Item& item, Words& words) {
  const Op& op = *item.op;
  words.assign(
      {static_cast<std::uint64_t>(item.slot + 1), static_cast<std::uint64_t>(item.dtype), static_cast<std::uint64_t>(item.precision)});
  append(words, op);
  append(words, item.shape);
  words.push_back(item.results.size());
  for (std::size_t k = 1; k < item.results.size(); ++k) {
    words.push_back(static_cast<std::uint64_t>(item.results[k].dtype));
    append(words, item.results[k].shape);
  }
  for (int input : item.inputs) words.push_back(static_cast<std::uint64_t>(input));
}

/// Items by key: a table of open addresses over the keys, which lie one behind the other.
class Keys {
 public:
  /// `count`: the most items.
  explicit Keys(std::size_t count) : table_(std::bit_ceil(2 * count + 1), -1) { keys_.reserve(count), words_.reserve(16 * count); }

  /// The first item with this key, which is item i if it is new.
  int first(const Words& key, int i) {
    std::uint64_t hash = key.size();
    for (const std::uint64_t word : key) hash = (hash ^ word) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    for (std::size_t at = hash;; ++at) {
      int& entry = table_[at & (table_.size() - 1)];
      if (entry < 0) {
        entry = static_cast<int>(keys_.size());
        keys_.push_back({hash, words_.size(), key.size(), i});
        words_.insert(words_.end(), key.begin(), key.end());
        return i;
      }
      const Key& known = keys_[index(entry)];
      if (known.hash == hash && std::ranges::equal(key, std::span(words_).subspan(known.begin, known.size))) return known.item;
    }
  }

 private:
  struct Key {
    std::uint64_t hash;
    std::size_t begin, size;
    int item;
  };
  std::vector<int> table_;  // numbers of keys; -1: free
  std::vector<Key> keys_;
  Words words_;
};

/// A number made of other numbers (1 / N): the host computes it once per run instead of the device.
class DerivedOp final : public Op {
 public:
  std::string_view name() const override { return "derived"; }
  Role role() const override { return Role::Scalar; }
};

void derive(Graph& graph, Item& item) {
  if (item.role() != Role::Elementwise || item.shape.rank() != 0 || !is_float(item.dtype) || item.inputs.empty() ||
      item.as<ElementwiseOp>().has_check())
    return;
  std::vector<int> numbers;
  DType rounded = DType::f64;
  for (int input : item.inputs) {
    if (graph[input].role() != Role::Scalar || !is_float(graph[input].dtype)) return;
    numbers.push_back(graph[input].slot);
  }
  // f32 scalars are computed in f64. A narrow float is rounded to its dtype, a cast to the narrower of its two dtypes, as in tensors.
  if (is_narrow_float(item.dtype)) {
    rounded = item.dtype;
  } else if (item.op == cast_op()) {
    const DType from = graph[item.inputs[0]].dtype;
    rounded = size_of(from) < size_of(item.dtype) ? from : item.dtype;
  }
  static const Ref<const Op> op = make<DerivedOp>();
  graph.derived.push_back(Expression::of_numbers(item.op, numbers, rounded));
  item.op = op;
  item.inputs.clear();
  item.slot = static_cast<int>(graph.constants.size());
  graph.constants.push_back(tile::compute_type(item.dtype));
}

void merge_equal(Graph& graph) {
  std::vector<int> same(graph.items.size());
  Keys keys(graph.items.size());
  Words identity;
  for (int i = 0; i < graph.size(); ++i) {
    Item& item = graph[i];
    for (int& input : item.inputs) input = same[index(input)];
    same[index(i)] = i;
    const bool is_nothing = item.role() == Role::Stop || (item.role() == Role::Same && item.results.empty());  // that a program would do
    if (is_nothing) {
      same[index(i)] = item.inputs[0];
      continue;
    }
    if (item.role() == Role::View) {
      compose(graph, item);
      if (is_identity(graph, item)) {
        same[index(i)] = item.inputs[0];
        continue;
      }
    }
    derive(graph, item);
    identify(item, identity);
    same[index(i)] = keys.first(identity, i);
  }
  for (int& output : graph.outputs) output = same[index(output)];
  for (auto& update : graph.updates) update.item = same[index(update.item)];
  remove_dead(graph);
}

}  // namespace

bool transposes(const Graph& graph, const Item& item) {
  if (item.role() != Role::View || item.shape.rank() != 2) return false;
  const Shape& from = graph[item.inputs[0]].shape;
  const auto seen = from.rank() == 2 ? item.as<ViewOp>().apply(marked(from)) : std::nullopt;
  const auto axes = seen ? axes_of(from, *seen) : std::nullopt;
  return axes && (*axes)[0] == 1 && (*axes)[1] == 0;
}

void simplify(Graph& graph) {
  merge_equal(graph);
  if (turn_products(graph)) merge_equal(graph);
}

}  // namespace tegula::compile
