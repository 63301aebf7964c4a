#include "tegula/compile/passes/layouts.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "tegula/compile/passes/cut_steady.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/core/memory_rows.h"
#include "tegula/graph/structural.h"
#include "tegula/tile/kernel_context.h"

namespace tegula::compile {
namespace {

/// Per item: true if it may take over the storage of the input that it writes over. Nothing else may read that input, and it is computed, or it
/// is the Variable whose new value the item (or an item that writes over it) is, with no check after the write.
std::vector<bool> in_place(const Graph& graph, const Users& users) {
  std::vector<bool> out(graph.items.size());
  std::vector<int> next(graph.items.size(), -1), update(graph.items.size(), -1);  // who writes over it; the leaf whose new value it is
  int last_check = -1;
  bool any = false;
  for (int i = 0; i < graph.size(); ++i) {
    if (has_check(graph[i])) last_check = i;
    const int base = overwritten(graph, i);
    if (base >= 0) next[index(base)] = i, any = true;
  }
  if (!any) return out;
  for (const auto& one : graph.updates) update[index(one.item)] = one.leaf;
  for (int i = 0; i < graph.size(); ++i) {
    const int base = overwritten(graph, i);
    if (base < 0) continue;
    const int producer = producer_of(graph, i), result = result_of(graph, i);
    bool alone = users.once(base);
    for (int at = graph[producer].inputs[index(input_overwritten(*graph[producer].op, result))]; at != base; at = graph[at].inputs[0])
      alone = alone && users.once(at);
    if (alone && graph[base].role() == Role::Leaf) {
      int end = i;
      while (update[index(end)] != graph[base].slot && users.once(end) && next[index(end)] >= 0) end = next[index(end)];
      const bool given = std::ranges::find(graph.outputs, end) != graph.outputs.end();
      alone = update[index(end)] == graph[base].slot && !given && last_check < producer;
    }
    out[index(i)] = alone;
  }
  return out;
}

class Materializer : Rewriter {
 public:
  Materializer(const Graph& from, const runtime::Device& device, std::int64_t runs)
      : Rewriter(from),
        users_(from),
        in_place_(in_place(from, users_)),
        joined_as_(joined_as(from, users_)),
        anyhow_(read_anyhow(from)),
        device_(device),
        transposed_per_second_(device.costs().transposed_per_second) {
    make_places();
    if (transposed_per_second_ > 0) count_products(runs);
  }

  Graph run() {
    each([this](int i, Item& item) {
      if (item.shows_input()) fix_view(i, item);
      if (item.role() == Role::Kernel) fix_kernel(i, item);
      if (item.role() == Role::Library) {
        lay_out_operand(i, item);
        fix_library(item);
      }
    });
    const auto take = [&](int item) {
      taken_.insert(item);
      return item;
    };
    return finish([&](int i) { return take(output(now(i))); }, [&](int i) { return take(own_value(now(i))); });
  }

 private:
  int copy(int input, const Dims& order = {}) { return insert(copy_op(), {input}, out()[input], {.order = order}); }

  Layout layout(int item) const { return access_of(out(), item).layout; }

  /// Per item: the join's dtype for a view that only a join reads; its own dtype otherwise.
  static std::vector<DType> joined_as(const Graph& graph, const Users& users) {
    std::vector<DType> out;
    for (const Item& item : graph.items) out.push_back(item.dtype);
    for (const Item& join : graph.items) {
      if (!join.join()) continue;
      for (const int input : join.inputs)
        if (users.once(input) && graph[input].shows_input()) out[index(input)] = join.dtype;
    }
    return out;
  }

  /// Per item: true if all its readers, through views or not, accept any layout.
  static std::vector<bool> read_anyhow(const Graph& graph) {
    std::vector<bool> out(graph.items.size(), true);
    const auto refuse = [&](int i) { out[index(i)] = false; };
    for (const int output : graph.outputs) refuse(output);
    for (const auto& update : graph.updates) refuse(update.item);
    for (int i = graph.size(); i-- > 0;) {
      const Role role = graph[i].role();
      const bool group = role == Role::Elementwise || role == Role::Reduce || (role == Role::Kernel && !graph[i].order.empty());
      for (const int input : graph[i].inputs) {
        if (!group && (!graph[i].shows_input() || !out[index(i)])) refuse(input);
      }
    }
    return out;
  }

  /// The order in which these axes lie, outermost first; what is repeated stays inside the axis before it. Empty: row-major.
  static Dims order_in_memory(const Layout& layout) {
    std::vector<std::int64_t> distance;
    std::vector<int> axes;
    for (int i = 0; i < layout.shape.rank(); ++i) {
      const bool tells = layout.shape[i] != 1 && layout.strides[i] != 0;
      distance.push_back(tells || i == 0 ? std::abs(layout.strides[i]) : distance.back());
      axes.push_back(i);
    }
    if (std::ranges::is_sorted(distance, std::greater<>())) return {};
    std::ranges::stable_sort(axes, std::greater<>(), [&](int axis) { return distance[index(axis)]; });
    Dims order;
    for (const int axis : axes) order.push_back(axis);
    return order;
  }

  void fix_view(int i, Item& item) {
    if (!shown(*item.op, layout(item.inputs[0]))) {
      const DType joined = joined_as_[index(i)];
      Item copied = inserted(joined == item.dtype ? copy_op() : cast_op(), {item.inputs[0]}, out()[item.inputs[0]]);
      copied.dtype = item.dtype = joined;  // a join's piece may be stored within it at once
      if (anyhow_[index(i)]) copied.order = order_in_memory(layout(item.inputs[0]));
      if (!shown(*item.op, layout_of(copied))) copied.order = {};
      item.inputs[0] = add(std::move(copied));
    }
  }

  bool is_memory(int item) const { return out()[access_of(out(), item).base].in_memory(); }

  /// Per input of a kernel: nothing if no result overwrites it, else whether the result may take over its storage.
  std::vector<std::optional<bool>> taken_over(int i) const {
    std::vector<std::optional<bool>> out(from()[i].inputs.size());
    const std::vector<int> values = values_of(from(), users_, i);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const int input = input_overwritten(*from()[i].op, static_cast<int>(k));
      if (input >= 0) out[index(input)] = values[k] >= 0 && in_place_[index(values[k])];
    }
    return out;
  }

  void fix_kernel(int i, Item& item) {
    const std::vector<std::optional<bool>> over = taken_over(i);
    for (int k = 0; k < static_cast<int>(item.inputs.size()); ++k) {
      int& input = item.inputs[index(k)];
      const bool is_below = over[index(k)].has_value();
      if (!is_below && out()[input].role() == Role::Scalar && item.as<KernelOp>().takes_numbers()) continue;
      const Layout at = layout(input);
      const bool kept = is_below && (!*over[index(k)] || at.offset != 0 || numel(at.shape) != elements_below(input));
      const bool stored_within = !item.order.empty();  // a join that is no kernel: its pieces may lie anywhere
      const bool fits = is_below ? at.is_dense() : stored_within || item.as<KernelOp>().accepts(k, at);
      if (kept) input = copy(input);
      else if (!is_memory(input) || !fits) input = is_leaf_again(input) ? copy_for_all(input) : copy(input);
    }
  }
  // A weight, maybe in half: passes that read it in another order read one copy. A shared copy of anything else would hold memory from the first reader to the last.
  bool is_leaf_again(int item) const {
    int base = access_of(out(), item).base;
    if (out()[base].op == cast_op()) base = access_of(out(), out()[base].inputs[0]).base;
    return out()[base].role() == Role::Leaf;
  }
  int copy_for_all(int input) {
    const auto [known, is_new] = copies_.try_emplace(input);
    if (is_new) known->second = copy(input);
    return known->second;
  }
  std::int64_t elements_below(int item) const { return numel(out()[access_of(out(), item).base].shape); }

  void fix_library(Item& item) {
    for (std::size_t k = 0; k < item.inputs.size(); ++k) {
      int& input = item.inputs[k];
      const auto read = read_by_epilogue(item, k);
      const bool is_beside = read == runtime::Expression::Source::Tensor, is_reshaped = is_beside && layout(input).shape != item.shape;
      const bool fits = is_reshaped ? same_strides(layout(input), dense_strides(layout(input).shape))
                        : is_beside ? same_strides(layout(input), layout_of(item).strides)
                        : read      ? layout(input).is_dense()
                                    : item.as<LibraryOp>().accepts(device_, static_cast<int>(k), layout(input));
      if (is_memory(input) && fits) continue;
      Own own{.order = is_beside && !is_reshaped ? item.order : Dims()};
      if (out()[input].role() == Role::Scalar) own.dtype = item.as<LibraryOp>().input_dtype(static_cast<int>(k), item.dtype);
      input = insert(copy_op(), {input}, out()[input], own);
    }
  }

  // How many products read each item as their second operand, which no batch repeats.
  void count_products(std::int64_t runs) {
    const std::vector<bool> steady = runs > 1 ? steady_items(from()) : std::vector<bool>(from().items.size());
    for (const Item& item : from().items) {
      if (!item.multiplies()) continue;
      const int operand = item.inputs[1];
      products_[operand] += steady[index(operand)] ? runs : 1;
    }
  }
  void lay_out_operand(int i, Item& item) {
    if (transposed_per_second_ == 0 || !item.multiplies() || is_half(item.dtype)) return;
    const int operand = from()[i].inputs[1];
    if (const auto known = rows_.find(operand); known != rows_.end()) {
      item.inputs[1] = known->second;
      return;
    }
    const Layout a = layout(item.inputs[0]), b = layout(item.inputs[1]);
    const bool fits = item.as<LibraryOp>().accepts(device_, 0, a) && item.as<LibraryOp>().accepts(device_, 1, b);
    if (!fits || b.is_dense() || !is_memory(item.inputs[1])) return;
    if (products_.at(operand) * saved_by_rows(item.dtype, a, b, layout_of(item)) <
        static_cast<double>(numel(b.shape)) / transposed_per_second_)
      return;
    item.inputs[1] = copy(item.inputs[1]);
    rows_.emplace(operand, item.inputs[1]);
  }

  // Seconds that a product takes less with a second operand in rows.
  double saved_by_rows(DType dtype, const Layout& a, const Layout& b, const Layout& c) const {
    const runtime::CallDescription as_it_lies = runtime::Matmul::of(dtype, a, b, c),
                                   in_rows = runtime::Matmul::of(dtype, a, Layout::dense(b.shape), c);
    std::optional<double> now, then;
    for (const runtime::Candidate& way : device_.candidates(as_it_lies)) {
      if (way.description == as_it_lies) now = way.seconds;
      if (way.description == in_rows) then = way.seconds;
    }
    return now && then ? *now - *then : 0;
  }

  // An output or update must be a computed row-major value that no other one claims.
  int own_value(int item) {
    const bool ok = out()[item].is_computed() && out()[item].order.empty() && !taken_.contains(item);
    return ok ? item : copy(item);
  }

  // A view that puts all of a computed value into row-major order (channels-last results permuted so) needs no copy: the value is the output.
  int output(int item) {
    const Access access = access_of(out(), item);
    const bool whole =
        access.layout.is_dense() && access.layout.offset == 0 && numel(access.layout.shape) == numel(out()[access.base].shape);
    if (!out()[item].shows_input() || !whole || !out()[access.base].is_computed()) return own_value(item);
    return taken_.contains(access.base) ? copy(item) : access.base;
  }

  Users users_;
  std::vector<bool> in_place_;
  std::vector<DType> joined_as_;
  std::vector<bool> anyhow_;
  const runtime::Device& device_;
  double transposed_per_second_;  // runtime::Costs
  std::unordered_map<int, std::int64_t> products_;  // that read an old item as their second operand
  std::unordered_map<int, int> rows_;  // old items that are laid out for all of those: the copies
  std::unordered_map<int, int> copies_;  // for kernels
  std::unordered_set<int> taken_;  // outputs and updates so far
};

}  // namespace

void materialize(Graph& graph, const runtime::Device& device, std::int64_t runs) { graph = Materializer(graph, device, runs).run(); }

}  // namespace tegula::compile
