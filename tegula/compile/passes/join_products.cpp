#include "tegula/compile/passes/products.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/passes/simplify.h"
#include "tegula/compile/users.h"
#include "tegula/core/memory_rows.h"
#include "tegula/graph/joined_products.h"
#include "tegula/graph/structural.h"
#include "tegula/tile/reduction.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kFewestTerms = 8;  // fewer are added as fast
/// Elements of the joins of a chain of additions, which needs memory for one product at a time: more only where one product has as many.
constexpr std::int64_t kMostOfChain = 1 << 20;

/// A term of a sum: a product or a reduction, seen through views. Items of the old graph.
struct Term {
  int term;  // the item that is added
  int item;  // the product or the reduction
  std::vector<int> operands;  // a product's two, the left one below its transposition; a reduction's one
  bool turned = false;        // whether there is a transposition
};
/// Terms that become one.
using Terms = std::vector<Term>;

/// Which sums have terms that become one, decided on the graph as it is.
class Decisions {
 public:
  explicit Decisions(const Graph& graph) : graph_(graph), users_(graph), absorbed_(graph.items.size()) {
    for (const Item& item : graph.items) {
      if (!is_sum(item)) continue;
      for (const int input : item.inputs) {
        const Item& below = graph[input];
        if (is_sum(below) && below.shape == item.shape && below.dtype == item.dtype && users_.once(input)) absorbed_[index(input)] = true;
      }
    }
    for (int i = 0; i < graph.size(); ++i) decide(i, [this](int term) { return product_of(term); });
    if (of_.empty()) return;
    // Products say what is joined; sums of that cost one look at it.
    for (int i = 0; i < graph.size(); ++i) decide(i, [this](int term) { return reduction_of(term); });
  }

  static bool is_add_n(const Item& item) { return item.op->name() == "add_n"; }
  bool empty() const { return of_.empty(); }
  /// The terms to join in a sum; empty if the sum does not change.
  std::vector<Terms> of(int sum) const {
    const auto found = of_.find(sum);
    return found == of_.end() ? std::vector<Terms>() : found->second;
  }

  /// The terms of a sum and of the sums it absorbs, in order.
  std::vector<int> terms_of(int sum) const {
    std::vector<int> terms, stack{sum};
    while (!stack.empty()) {
      const int i = stack.back();
      stack.pop_back();
      if (i == sum || absorbed(i)) stack.insert(stack.end(), graph_[i].inputs.rbegin(), graph_[i].inputs.rend());
      else terms.push_back(i);
    }
    return terms;
  }

 private:
  bool absorbed(int i) const { return absorbed_[index(i)]; }

  static bool is_sum(const Item& item) {
    if (item.role() != Role::Elementwise || !is_float(item.dtype) || item.inputs.size() < 2) return false;
    return is_add_n(item) || item.is(tile::Word::Add);
  }

  template <class TermOf>
  void decide(int sum, TermOf term_of) {
    const Item& item = graph_[sum];
    if (!is_sum(item) || absorbed(sum)) return;
    if (!is_add_n(item) && std::ranges::none_of(item.inputs, [this](int i) { return absorbed(i); })) return;
    std::map<Words, Terms> kinds;
    for (const int term : terms_of(sum)) {
      if (graph_[term].dtype != item.dtype || graph_[term].shape != item.shape) continue;
      if (auto found = term_of(term)) kinds[kind_of(*found)].push_back(std::move(*found));
    }
    for (auto& [kind, terms] : kinds) {
      if (terms.size() < kFewestTerms || !differ(terms)) continue;
      const bool product = terms[0].operands.size() == 2;
      if (product && !is_add_n(item) && elements(terms) > std::max(kMostOfChain, 2 * numel(graph_[terms[0].item].shape))) continue;
      // In the order of the steps, whichever way the sum went, so that several sums share their joins.
      std::ranges::stable_sort(terms, {}, [](const Term& t) { return std::ranges::min(t.operands); });
      if (!product && !follow_join(terms)) continue;
      if (product) note_joins(terms);
      of_[sum].push_back(std::move(terms));
    }
  }

  /// The item below views that nothing else looks through.
  int below_own_views(int i) const {
    while (users_.once(i) && graph_[i].role() == Role::View) i = graph_[i].inputs[0];
    return i;
  }

  std::optional<Term> product_of(int term) const {
    const int i = below_own_views(term);
    const Item& item = graph_[i];
    if (!users_.once(i) || !item.multiplies() || item.inputs.size() != 2) return std::nullopt;
    if (item.shape.rank() != 2 || !item.results.empty() || item.precision == Precision::fp8) return std::nullopt;
    const int left = item.inputs[0], right = item.inputs[1];
    const std::int64_t moved = numel(graph_[left].shape) + numel(graph_[right].shape);
    if (!joined_operands_pay(moved, item.shape[0], item.shape[1])) return std::nullopt;
    const bool turned = transposes(graph_, graph_[left]);
    return Term{term, i, {turned ? graph_[left].inputs[0] : left, right}, turned};
  }

  /// A sum over the axis along which its input would be joined, among others.
  std::optional<Term> reduction_of(int term) const {
    const int i = below_own_views(term);
    const Item& item = graph_[i];
    if (!users_.once(i) || item.role() != Role::Reduce) return std::nullopt;
    const auto& op = item.as<ReduceOp>();
    if (op.kind() != tile::Reduction::Sum || !op.axes().contains(0)) return std::nullopt;
    return Term{term, i, {item.inputs[0]}};
  }

  /// The key of a term: terms with equal keys may be joined.
  Words kind_of(const Term& term) const {
    const Item& item = graph_[term.item];
    Words words{static_cast<std::uint64_t>(item.precision), static_cast<std::uint64_t>(item.dtype), term.turned ? 1u : 0u};
    for (int i = term.term;; i = graph_[i].inputs[0]) {
      append(words, *graph_[i].op);
      append(words, graph_[i].shape);
      if (i == term.item) return words;
    }
  }

  /// The same weight, or the same input, in all of them is another sum.
  static bool differ(const Terms& terms) {
    for (std::size_t k = 0; k < terms[0].operands.size(); ++k) {
      std::set<int> different;
      for (const Term& term : terms) different.insert(term.operands[k]);
      if (2 * different.size() <= terms.size()) return false;
    }
    return true;
  }

  std::int64_t elements(const Terms& terms) const {
    std::int64_t sum = 0;
    for (const Term& term : terms) {
      for (const int operand : term.operands) sum += numel(graph_[operand].shape);
    }
    return sum;
  }

  static std::vector<int> operands(const Terms& terms, std::size_t k) {
    std::vector<int> out;
    for (const Term& term : terms) out.push_back(term.operands[k]);
    return out;
  }

  void note_joins(const Terms& products) {
    for (std::size_t k = 0; k < 2; ++k) {
      if (k == 0 && !products[0].turned) continue;  // joined along the other axis
      std::vector<int> pieces = operands(products, k), sorted = pieces;
      std::ranges::sort(sorted);
      joins_.emplace(std::move(sorted), std::move(pieces));
    }
  }

  /// Brings reductions into the order of the pieces of a join; false where there is none of what they read.
  bool follow_join(Terms& reductions) const {
    std::vector<int> sorted = operands(reductions, 0);
    std::ranges::sort(sorted);
    const auto found = joins_.find(sorted);
    if (found == joins_.end()) return false;
    std::unordered_map<int, std::size_t> place;
    for (std::size_t k = 0; k < found->second.size(); ++k) place[found->second[k]] = k;
    std::ranges::stable_sort(reductions, {}, [&](const Term& t) { return place.at(t.operands[0]); });
    return true;
  }

  const Graph& graph_;
  Users users_;
  std::vector<bool> absorbed_;  // sums that are part of another one
  std::map<int, std::vector<Terms>> of_;
  std::map<std::vector<int>, std::vector<int>> joins_;  // along the first axis: pieces in order of number -> as they lie
};

class ProductJoiner : Rewriter {
 public:
  ProductJoiner(const Graph& from, const Decisions& decisions) : Rewriter(from), decisions_(decisions) {}

  Graph run() {
    each([this](int i, Item& item) {
      if (const std::vector<Terms> all = decisions_.of(i); !all.empty()) add_up(i, item, all);
    });
    return finish();
  }

 private:
  /// The sum with one term for each of `all`, where the first of its terms stood.
  void add_up(int sum, Item& item, const std::vector<Terms>& all) {
    std::map<int, const Terms*> place;  // term -> what it becomes one with
    for (const Terms& terms : all) {
      for (const Term& term : terms) place[term.term] = &terms;
    }
    std::set<const Terms*> made;
    std::vector<int> left;
    for (const int term : decisions_.terms_of(sum)) {
      const auto found = place.find(term);
      if (found == place.end()) left.push_back(now(term));
      else if (made.insert(found->second).second) left.push_back(one_of(*found->second));
    }
    const int node = item.node;
    if (left.size() == 1) {
      item = out()[left[0]];  // the item that was added is dead
    } else if (Decisions::is_add_n(item)) {
      item.inputs = left;
    } else {
      int so_far = left[0];
      for (std::size_t i = 1; i + 1 < left.size(); ++i) so_far = again(item, {so_far, left[i]});
      item.inputs = {so_far, left.back()};
    }
    item.node = node;
  }

  /// Builds the one item that replaces several terms, under the views that they had.
  int one_of(const Terms& terms) {
    const Term& first = terms[0];
    const Item& like = from()[first.item];
    int result = -1;
    if (first.operands.size() == 1) {
      result = insert(like.op, {join_of(terms, 0, 0)}, like);
    } else {
      int a = join_of(terms, 0, first.turned ? 0 : 1);
      if (first.turned) a = insert(permute_op({1, 0}), {a}, like, {.shape = Shape{out()[a].shape[1], out()[a].shape[0]}});
      const int b = join_of(terms, 1, 0);
      result = insert(like.op, {a, b}, like);
    }
    return insert(from(), seen_through_views(from(), first.term).views, result);
  }

  int join_of(const Terms& terms, std::size_t operand, int axis) {
    std::vector<int> pieces;
    for (const Term& term : terms) pieces.push_back(now(term.operands[operand]));
    const auto [known, is_new] = joins_.try_emplace({axis, pieces}, -1);
    if (!is_new) return known->second;
    Item join = inserted(join_op(axis), pieces, out()[pieces[0]]);
    join.shape[axis] = 0;
    for (const int piece : pieces) join.shape[axis] += out()[piece].shape[axis];
    if (const int whole = whole_of(pieces, axis, join.shape); whole >= 0) {
      join.op = reshape_op(join.shape);
      join.inputs = {whole};
    }
    return known->second = add(std::move(join));
  }

  /// The tensor of which the pieces are consecutive slices; -1 if there is none.
  int whole_of(const std::vector<int>& pieces, int axis, const Shape& shape) const {
    const int whole = access_of(out(), pieces[0]).base;
    if (axis != 0 || numel(out()[whole].shape) != numel(shape)) return -1;
    if (!out()[whole].in_memory() || !access_of(out(), whole).layout.is_dense()) return -1;
    std::int64_t end = 0;
    for (const int piece : pieces) {
      const Access at = access_of(out(), piece);
      if (at.base != whole || at.layout.offset != end || !same_strides(at.layout, dense_strides(out()[piece].shape))) return -1;
      end += numel(out()[piece].shape);
    }
    return whole;
  }

  const Decisions& decisions_;
  std::map<std::pair<int, std::vector<int>>, int> joins_;  // (axis, pieces), of the new graph
};

}  // namespace

void join_products(Graph& graph) {
  const Decisions decisions(graph);
  if (decisions.empty()) return;
  graph = ProductJoiner(graph, decisions).run();
  remove_dead(graph);
}

}  // namespace tegula::compile
