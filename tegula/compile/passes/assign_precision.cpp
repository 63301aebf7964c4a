#include "tegula/compile/passes/dtypes.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/core/text_table.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/graph/structural.h"
#include "tegula/runtime/device.h"
#include "tegula/tile/ir.h"

namespace tegula::compile {
namespace {

bool is_view(const Item& item) { return item.shows_input(); }
/// A half in f32: stored as the half, it is the same number.
bool widens(const Graph& graph, const Item& item, DType half) {
  return item.op == cast_op() && item.dtype == f32 && graph[item.inputs[0]].dtype == half;
}
/// An exchange of halves.
bool carries(const Item& item, DType half) {
  return item.dtype == half && item.role() == Role::Library && effect_of(*item.op) != Effect::None;
}
bool repeats(const Graph& graph, const Item& view) { return numel(view.shape) > numel(graph[view.inputs[0]].shape); }

/// The dtype of each item: half where that saves memory and costs no accuracy that the products have not already given up.
///
/// Backwards: what a product reads should be stored as half, and so should what that is made of, element by element; this ends at ops
/// that want f32, at values that are repeated (a norm's statistics: small, and needed exactly), at what is carried from step to step of a
/// recurrence, and at what other precisions made.
/// Forwards: what can be computed in the epilogue of a product has its dtype, and what only moves halves gives halves.
class Chooser {
 public:
  Chooser(const Graph& graph, const runtime::Device& device)
      : graph_(graph),
        wanted_(graph.items.size()),
        states_(recurrent_states(graph)),
        in_f32_(products_in_f32(graph, device)),
        users_(graph) {
    for (const Item& item : graph.items) chosen_.push_back(item.dtype);
    for (int i = graph.size() - 1; i >= 0; --i) choose_from_uses(i);
    for (int i = 0; i < graph.size(); ++i) choose_from_inputs(i);
  }

  const std::vector<DType>& chosen() const { return chosen_; }
  /// A product that stays f32, and is TF32 inside.
  bool is_tf32(int i) const { return in_f32_[index(i)]; }

  /// True if operand `k` is the addend of a matmul's epilogue, which must have the matmul's dtype.
  bool is_bias(const Item& item, std::size_t k) const {
    if (!item.is(tile::Word::Add)) return false;
    const Item& addend = graph_[item.inputs[k]];
    return ends_call(item.inputs[1 - k]) && is_view(addend) && repeats(graph_, addend);
  }

 private:
  DType& chosen(int i) { return chosen_[index(i)]; }
  DType chosen(int i) const { return chosen_[index(i)]; }

  // True if an item's f32 may become its precision's half. For a call with several results: the first one's, if the others are no floats.
  static bool may_be_half(const Item& item) {
    return item.dtype == f32 && !item.is_part() && (item.results.empty() || first_alone_is_float(item)) &&
           storage_of(item.precision) != f32;
  }
  static bool first_alone_is_float(const Item& item) {
    return item.role() == Role::Library && !LoopOp::of(*item.op) &&
           std::none_of(item.results.begin() + 1, item.results.end(), [](const Result& result) { return is_float(result.dtype); });
  }
  static bool is_first_part(const Item& item) { return item.is_part() && item.as<PartOp>().index() == 0; }

  void want(int input, DType half, bool through_repeats) {
    bool travels = false;  // what is cast to travel as a half is what is read behind the exchange
    for (;; input = graph_[input].inputs[0]) {
      const Item& item = graph_[input];
      if (carries(item, half)) {
        travels = true;
      } else if (is_view(item)) {
        if (!through_repeats && repeats(graph_, item)) return;
      } else if (!is_first_part(item) && !(travels && item.op == cast_op() && item.dtype == half)) {
        break;
      }
    }
    const Item& item = graph_[input];
    const bool either = item.op->numerics() == Numerics::Either || widens(graph_, item, half);
    if (either && may_be_half(item) && storage_of(item.precision) == half) wanted_[index(input)] = true;
  }

  void choose_from_uses(int i) {
    const Item& item = graph_[i];
    if (is_view(item) || !may_be_half(item) || states_[index(i)] || is_tf32(i)) return;
    const bool product = item.op->numerics() == Numerics::TensorCore;
    if (!product && !wanted_[index(i)]) return;
    chosen(i) = storage_of(item.precision);
    for (int input : item.inputs) {
      const bool repeated = item.role() == Role::Elementwise && numel(graph_[input].shape) < numel(item.shape);
      if (!repeated) want(input, chosen(i), product);
    }
  }

  void choose_from_inputs(int i) {
    const Item& item = graph_[i];
    if (is_view(item) || (is_first_part(item) && graph_[item.inputs[0]].role() == Role::Library)) {
      chosen(i) = chosen(item.inputs[0]);
      return;
    }
    if (!may_be_half(item) || chosen(i) != f32 || item.op->numerics() != Numerics::Either || states_[index(i)]) return;
    const DType half = storage_of(item.precision);
    const auto is_half_or_integer = [&](int input) { return chosen(input) == half || !is_float(chosen(input)); };
    bool follows = false;
    switch (item.role()) {
      case Role::Elementwise: follows = continues_call(item); break;
      case Role::Library: follows = chosen(item.inputs[0]) == half; break;
      case Role::Kernel: follows = std::all_of(item.inputs.begin(), item.inputs.end(), is_half_or_integer); break;
      default: break;
    }
    if (follows) chosen(i) = half;
  }

  // A half product, alone or with what was found to continue it, that nothing else reads.
  bool ends_call(int i) const {
    const Item& item = graph_[i];
    if (!is_half(chosen(i)) || !users_.once(i)) return false;
    if (item.role() == Role::Library) return item.op->numerics() == Numerics::TensorCore;
    return item.role() == Role::Elementwise && continues_call(item);
  }
  bool continues_call(const Item& item) const {
    if (item.inputs.size() == 1) return ends_call(item.inputs[0]) && is_activation(item);
    return is_bias(item, 0) || is_bias(item, 1);
  }

  static bool is_activation(const Item& item) {
    runtime::Expression epilogue{{{.source = runtime::Expression::Source::Result}}};
    const int result = 0;
    return append(epilogue, item.as<ElementwiseOp>(), item.dtype, {&result, 1}) && runtime::is_activation(epilogue, item.dtype);
  }

  const Graph& graph_;
  std::vector<bool> wanted_, states_, in_f32_;
  Users users_;
  std::vector<DType> chosen_;
};

/// Builds the graph again with the chosen dtypes and the casts they need, each made once.
class Caster : Rewriter {
 public:
  Caster(const Graph& from, const runtime::Device& device) : Rewriter(from), chooser_(from, device) {}

  Graph run() {
    each([this](int i, Item& item) {
      item.dtype = chooser_.chosen()[index(i)];
      if (!item.results.empty()) item.results[0].dtype = item.dtype;
      if (item.op == cast_op() && out()[item.inputs[0]].dtype == item.dtype) item.op = reshape_op(item.shape);  // nothing is left to do
      if (item.role() == Role::Library) finish_call(i, item);
      if (item.role() == Role::Kernel && item.op->numerics() == Numerics::TensorCore) finish_product(item);
      if (item.role() == Role::Kernel) finish_overwritten(item);
      if (item.role() == Role::Elementwise && is_half(item.dtype)) {
        for (std::size_t k = 0; k < item.inputs.size(); ++k) {
          if (chooser_.is_bias(from()[i], k)) item.inputs[k] = as(item.inputs[k], item.dtype);
        }
      }
    });
    // Results have the dtype of the user's graph.
    const auto result = [this](int i) { return as(now(i), from()[i].dtype); };
    return finish(result, result);
  }

 private:
  void finish_call(int i, Item& item) {
    const LoopOp* const loop = LoopOp::of(*item.op);
    for (std::size_t k = 0; k < item.inputs.size(); ++k) {
      int& input = item.inputs[k];
      if (!is_float(out()[input].dtype)) continue;  // an index stays what it is
      // A number is stored as the loop computes with it.
      if (loop && loop->input(k) == LoopOp::Input::Number && out()[input].role() == Role::Scalar) continue;
      input = as(input, item.as<LibraryOp>().input_dtype(static_cast<int>(k), item.dtype));
    }
    const bool product = item.op->numerics() == Numerics::TensorCore;
    if (product && item.dtype == f32 && (item.precision == Precision::tf32 || chooser_.is_tf32(i))) {
      item.arithmetic = runtime::Arithmetic::TF32;
    }
  }

  // Sums of products by an op's own kernels.
  void finish_product(Item& item) {
    for (int& input : item.inputs) {
      if (is_float(out()[input].dtype)) input = as(input, item.dtype);
    }
  }

  // A result that takes over an input's storage has the input's dtype.
  void finish_overwritten(Item& item) {
    for (std::size_t k = 0; k < std::max<std::size_t>(item.results.size(), 1); ++k) {
      const int input = input_overwritten(*item.op, static_cast<int>(k));
      if (input < 0) continue;
      int& below = item.inputs[index(input)];
      if (is_float(out()[below].dtype)) below = as(below, item.results.empty() ? item.dtype : item.results[k].dtype);
    }
  }

  // The item in another float dtype. Views are put on top of the cast, so that what they repeat or transpose is cast once.
  int as(int i, DType dtype) {
    std::vector<int> views;
    const auto known = [&](int at) {
      const auto found = casts_.find({at, dtype});
      return found == casts_.end() ? out()[at].dtype == dtype ? at : -1 : found->second;
    };
    int to = known(i);
    for (; to < 0; to = known(i)) {
      const Item& item = out()[i];
      if (is_half(dtype) && widens(out(), item, dtype)) {
        to = item.inputs[0];
        break;
      }
      if (!is_view(item) || numel(item.shape) < numel(out()[item.inputs[0]].shape)) {
        to = casts_[{i, dtype}] = insert(cast_op(), {i}, item, {.dtype = dtype});
        break;
      }
      views.push_back(i);
      i = item.inputs[0];
    }
    for (auto view = views.rbegin(); view != views.rend(); ++view) {
      Item item = out()[*view];
      item.inputs[0] = to;
      item.dtype = dtype;
      to = casts_[{*view, dtype}] = add(std::move(item));
    }
    return to;
  }

  Chooser chooser_;
  std::map<std::pair<int, DType>, int> casts_;  // (item, dtype) -> the item in it
};

std::string arithmetic_of(const Item& item) {
  const std::string type(name(tile::compute_type(item.dtype)));
  if (item.role() != Role::Library || item.op->numerics() != Numerics::TensorCore) return type;
  if (item.precision == Precision::fp8 && item.multiplies()) return "e4m3, sums " + type;
  const bool tf32 = item.arithmetic == runtime::Arithmetic::TF32;
  return (tf32 ? "tf32" : std::string(name(item.dtype))) + ", sums " + type;
}

}  // namespace

void assign_precision(Graph& graph, const runtime::Device& device) {
  const bool needed =
      std::any_of(graph.items.begin(), graph.items.end(), [](const Item& item) { return item.precision != Precision::fp32; });
  if (!needed) return;
  if (halves_lose(graph, device)) {
    for (Item& item : graph.items) {
      if (is_half(storage_of(item.precision))) item.precision = Precision::fp32;
    }
  }
  graph = Caster(graph, device).run();
  remove_dead(graph);  // f32 views whose readers take the cast
}

std::string precision_table(const Graph& graph) {
  std::vector<std::pair<std::vector<std::string>, int>> rows;
  for (const Item& item : graph.items) {
    const Role role = item.role();
    if (role == Role::Leaf || role == Role::Scalar || role == Role::Index || item.shows_input() || !is_float(item.dtype)) continue;
    std::string reads;
    for (int input : item.inputs) {
      if (graph[input].role() != Role::Scalar) reads += (reads.empty() ? "" : " ") + std::string(name(graph[input].dtype));
    }
    std::vector<std::string> row{std::string(item.op->name()), reads, arithmetic_of(item), std::string(name(item.dtype))};
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == row; });
    if (same == rows.end()) rows.emplace_back(std::move(row), 1);
    else same->second++;
  }
  TextTable table({"op", "reads", "arithmetic", "result", "items"});
  for (auto& [row, count] : rows) {
    row.push_back(std::to_string(count));
    table.add(std::move(row));
  }
  return table.text();
}

}  // namespace tegula::compile
