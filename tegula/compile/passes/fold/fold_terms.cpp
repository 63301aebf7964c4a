// Terms that are computed of named lines are computed by the grouped sum that adds them.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tegula/compile/description.h"
#include "tegula/compile/passes/fold/fold.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/graph/lines.h"

namespace tegula::compile {
namespace {

using Source = runtime::Expression::Source;

constexpr int kMostItems = 6;  // of arithmetic that costs less than a trip to memory
constexpr std::size_t kMostMatrices = 4;
constexpr int kLines = 2;  // the input of a grouped sum that it adds lines of

class Folder {
 public:
  Folder(Graph& graph, const runtime::Device& device) : graph_(graph), device_(device), users_(graph) {}

  void run() {
    for (int i = 0; i < graph_.size(); ++i)
      if (is_sum(i)) sums_.push_back(i);
    if (sums_.empty()) return;
    while (settle()) {}
    if (sums_.empty()) return;
    std::map<int, Folded> folded;
    for (const int i : sums_) folded[i] = *with_terms(i);
    rewrite(graph_, [&](Rewriter& to, int i, Item& item) {
      const auto found = folded.find(i);
      if (found == folded.end()) return;
      item.op = found->second.op, item.inputs.clear();
      for (const int old : found->second.inputs) {
        int input = to.now(old);
        if (to.out()[input].role() == Role::Scalar) input = to.insert(copy_op(), {input}, to.out()[input], {.dtype = item.dtype});
        item.inputs.push_back(input);
      }
    });
    remove_dead(graph_);
  }

 private:
  bool is_sum(int i) const {
    const Item& item = graph_[i];
    if (item.role() != Role::Library || !item.results.empty() || item.inputs.size() != kLines + 1 ||
        graph_[item.inputs[kLines]].role() != Role::Elementwise)
      return false;
    const runtime::CallDescription call = description_of(graph_, item, device_);
    const auto* const sum = std::get_if<runtime::GroupedSum>(&call);
    return sum && sum->terms.is_empty() && !sum->weighted && sum->outer == 1 && (sum->dtype == f32 || sum->dtype == f64);
  }

  /// Takes away items that must be stored, and sums that cannot compute what they add. True if there was one.
  bool settle() {
    std::vector<bool> reached(graph_.items.size());
    for (const int i : sums_) reach(graph_[i].inputs[kLines], graph_[i], reached);
    bool changed = true;
    while (changed) {
      changed = false;
      for (int i = 0; i < graph_.size(); ++i)
        if (reached[index(i)] && !is_only_read_by_sums(i, reached)) reached[index(i)] = false, changed = true;
    }
    computed_ = std::move(reached);
    const std::size_t count = sums_.size();
    std::erase_if(sums_, [&](int i) { return !with_terms(i); });
    return sums_.size() != count;
  }

  /// Elementwise items on the way to what the sum adds.
  void reach(int i, const Item& sum, std::vector<bool>& reached) const {
    const Item& item = graph_[i];
    const bool fits = item.role() == Role::Elementwise && !item.as<ElementwiseOp>().has_check() &&
                      item.op->numerics() == Numerics::Either && item.dtype == sum.dtype &&
                      item.shape == graph_[sum.inputs[kLines]].shape && item.within->whole < 0;
    if (!fits || reached[index(i)]) return;
    reached[index(i)] = true;
    for (const int input : item.inputs) reach(input, sum, reached);
  }

  bool is_only_read_by_sums(int i, const std::vector<bool>& computed) const {
    return !users_.leaves(i) && std::ranges::all_of(users_.of(i), [&](const Users::Use& use) {
      return computed[index(use.reader)] || (use.input == kLines && std::ranges::find(sums_, use.reader) != sums_.end());
    });
  }

  /// A sum's new op and inputs.
  struct Folded {
    Ref<const Op> op;
    std::vector<int> inputs;
  };
  /// The expression of what a sum adds, and what its values read.
  struct Terms {
    const Item& lines;  // what it adds; every value has this dtype and shape
    runtime::Expression expression = {};
    std::vector<runtime::GroupedSum::Lines> matrices = {};
    std::map<int, std::vector<int>> inputs = {};  // of the values that read
    std::map<int, int> known = {};  // the value of an item
    int items = 0;
    bool named = false;
  };

  /// The sum with its terms, if they can be computed, and the device takes that.
  std::optional<Folded> with_terms(int i) const {
    const Item& item = graph_[i];
    Terms terms{.lines = graph_[item.inputs[kLines]]};
    terms.expression.values.push_back({.source = Source::Result});
    if (!computed_[index(item.inputs[kLines])] || value(item.inputs[kLines], terms) < 0 || !terms.named) return std::nullopt;
    runtime::GroupedSum form = std::get<runtime::GroupedSum>(description_of(graph_, item, device_));
    form.terms = std::move(terms.expression), form.reads = std::move(terms.matrices);
    if (!device_.takes(runtime::CallDescription(form))) return std::nullopt;
    Folded out{.op = {}, .inputs = {item.inputs.begin(), item.inputs.begin() + kLines}};
    for (const auto& [at, inputs] : terms.inputs) out.inputs.insert(out.inputs.end(), inputs.begin(), inputs.end());
    out.op = Ref<const Op>(new TermSumOp(std::move(form)));
    return out;
  }

  /// The number of the value that stands for item i; -1 if there is none.
  int value(int i, Terms& terms) const {
    if (const auto found = terms.known.find(i); found != terms.known.end()) return found->second;
    const int out = computed_[index(i)] ? arithmetic(i, terms) : read(i, terms);
    return terms.known[i] = out;
  }

  int arithmetic(int i, Terms& terms) const {
    if (++terms.items > kMostItems) return -1;
    const Item& item = graph_[i];
    std::vector<int> operands;
    for (const int input : item.inputs)
      if (operands.push_back(value(input, terms)); operands.back() < 0) return -1;
    if (!append(terms.expression, item.as<ElementwiseOp>(), item.dtype, operands)) return -1;
    return static_cast<int>(terms.expression.values.size()) - 1;
  }

  int read(int i, Terms& terms) const {
    const Item& item = graph_[i];
    if (item.dtype != terms.lines.dtype) return -1;  // a condition
    if (item.role() == Role::Scalar && item.shape.rank() == 0) {
      const int at = terms.expression.read(Source::Number);
      terms.inputs[at] = {i};
      return at;
    }
    if (terms.matrices.size() == kMostMatrices || item.shape.rank() != 2 || item.shape != terms.lines.shape) return -1;
    const bool named = item.role() == Role::Kernel && item.as<KernelOp>().line_axis() == 0 && item.prologue->input < 0;
    const std::vector<int> inputs = named ? std::vector{item.inputs[1], item.inputs[0]} : std::vector{i};
    const int matrix = inputs.back();
    if (!lies_dense(matrix) || graph_[matrix].dtype != item.dtype || graph_[matrix].shape[0] == 0) return -1;
    if (named && (!lies_dense(inputs[0]) || graph_[inputs[0]].dtype != i64)) return -1;
    const int at = terms.matrices.empty() ? 0 : terms.expression.read(Source::Tensor);
    terms.matrices.push_back({graph_[matrix].shape[0], named});
    terms.inputs[at] = inputs;
    terms.named = terms.named || named;
    return at;
  }

  /// True if the item's elements lie in memory one behind the other.
  bool lies_dense(int i) const {
    const Place& place = graph_.place(i);
    const Item& base = graph_[place.value];
    return base.in_memory() && place.layout.is_dense() && place.layout.offset == 0 && base.within->whole < 0;
  }

  Graph& graph_;
  const runtime::Device& device_;
  Users users_;
  std::vector<int> sums_;  // that compute what they add
  std::vector<bool> computed_;  // items that nobody stores
};

}  // namespace

void fold_terms(Graph& graph, const runtime::Device& device) { Folder(graph, device).run(); }

}  // namespace tegula::compile
