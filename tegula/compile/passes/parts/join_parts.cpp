// Sums of many terms: those that are zero but for a part become joins, and what is left is added up a few at a time.

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include "tegula/compile/passes/parts/parts.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/tile/kernel_context.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kMostTerms = 128;  // of one addition; further ones are added to its result, in the same order

/// A term that is `value` from `begin` on along an axis, over the whole of all other axes, and zero elsewhere.
struct Piece {
  int term;   // the item that embeds it
  int value;
  std::int64_t begin, end;
};

bool is_sum(const Item& item) { return item.role() == Role::Elementwise && item.inputs.size() > 1 && item.op->name() == "add_n"; }
const Embeds* embeds(const Item& item) { return item.role() == Role::Kernel ? item.as<KernelOp>().embedding() : nullptr; }

class Joiner : Rewriter {
 public:
  using Rewriter::Rewriter;

  Graph run() {
    each([this](int, Item& item) {
      if (!is_sum(item)) return;
      join(item);
      cut(item);
    });
    return finish();
  }

 private:
  void cut(Item& sum) {
    if (sum.inputs.size() <= kMostTerms || sum.role() != Role::Elementwise) return;
    const std::vector<int> terms = std::move(sum.inputs);
    sum.inputs.assign(terms.begin(), terms.begin() + kMostTerms);
    for (std::size_t i = kMostTerms; i < terms.size(); i += kMostTerms - 1) {
      sum.inputs = {again(sum, sum.inputs)};
      sum.inputs.insert(sum.inputs.end(), terms.begin() + static_cast<std::ptrdiff_t>(i),
                        terms.begin() + static_cast<std::ptrdiff_t>(std::min(i + kMostTerms - 1, terms.size())));
    }
  }

  /// The axis along which an item is a part, with the part.
  std::optional<std::pair<int, Piece>> part(int i) const {
    const Item& item = out()[i];
    const Embeds* op = embeds(item);
    const auto at = op ? op->embedded_at() : std::nullopt;
    if (!at) return std::nullopt;
    const Shape& shape = out()[item.inputs[0]].shape;
    int axis = -1;
    for (int a = 0; a < shape.rank(); ++a) {
      if ((*at)[a] == 0 && shape[a] == item.shape[a]) continue;
      if (axis >= 0) return std::nullopt;
      axis = a;
    }
    if (axis < 0) return std::nullopt;
    return std::pair(axis, Piece{i, item.inputs[0], (*at)[axis], (*at)[axis] + shape[axis]});
  }

  void join(Item& item) {
    std::map<int, std::vector<Piece>> parts;  // by axis
    std::vector<int> terms;
    for (int input : item.inputs) {
      if (const auto found = part(input)) parts[found->first].push_back(found->second);
      else terms.push_back(input);
    }
    bool joined = false;
    for (auto& [axis, list] : parts) {
      for (const std::vector<Piece>& row : rows(std::move(list), item)) {
        if (row.size() == 1) {
          terms.push_back(row[0].term);
          continue;
        }
        std::vector<int> values;
        std::vector<std::int64_t> begins;
        for (const Piece& p : row) values.push_back(p.value), begins.push_back(p.begin);
        Item all = inserted(embeds(out()[row[0].term])->joined(axis, std::move(begins)), std::move(values), item);
        joined = true;
        if (terms.empty() && parts.size() == 1 && row.size() == item.inputs.size()) {
          all.node = item.node;
          item = std::move(all);
          return;
        }
        terms.push_back(add(std::move(all)));
      }
    }
    if (!joined) return;
    if (terms.size() > 1) {
      item.inputs = std::move(terms);
      return;
    }
    const int node = item.node;
    item = out()[terms[0]];  // a sum of equal parts and others: the item that was added is dead
    item.node = node;
  }

  /// Parts that do not meet, in order, in as few rows as there are parts at one place; those of one place are added first.
  std::vector<std::vector<Piece>> rows(std::vector<Piece> list, const Item& item) {
    std::ranges::stable_sort(list, [](const Piece& a, const Piece& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::vector<std::vector<Piece>> rows;
    std::multimap<std::int64_t, std::size_t> ends;  // of each row
    for (std::size_t i = 0; i < list.size();) {
      Piece next = list[i];
      std::vector<int> same;
      for (; i < list.size() && list[i].begin == next.begin && list[i].end == next.end; ++i) same.push_back(list[i].value);
      if (same.size() > 1) {
        Item sum = inserted(item.op, std::move(same), out()[next.value]);
        cut(sum);
        next.value = add(std::move(sum));
        next.term = again(out()[next.term], {next.value});  // dead where the part is joined with others
      }
      // The row that ends last before it begins; a row of its own where there is none.
      auto row = ends.upper_bound(next.begin);
      std::size_t number = rows.size();
      if (row == ends.begin()) {
        rows.emplace_back();
      } else {
        number = (--row)->second;
        ends.erase(row);
      }
      rows[number].push_back(next);
      ends.emplace(next.end, number);
    }
    return rows;
  }
};

/// A join whose pieces stand side by side in a later one becomes a piece of that.
void nest_joins(Graph& graph) {
  constexpr int kMostTries = 8;
  std::map<std::pair<int, int>, std::vector<int>> joins;  // (axis, first piece) -> joins
  std::map<int, std::vector<int>> pieces_of;  // each of them, before it was nested
  for (int i = 0; i < graph.size(); ++i) {
    const Joins* const join = graph[i].join();
    if (!join || !join->joined_at().empty()) continue;
    const std::vector<int> pieces = graph[i].inputs;
    std::vector<int> nested;
    for (auto at = pieces.begin(); at != pieces.end();) {
      const auto begins_here = [&](int whole) {
        const std::vector<int>& its = pieces_of.at(whole);
        return its.size() > 1 && std::cmp_less_equal(its.size(), pieces.end() - at) && std::equal(its.begin(), its.end(), at);
      };
      auto known = joins[{join->joined_axis(), *at}] | std::views::reverse | std::views::take(kMostTries);
      const auto whole = std::ranges::find_if(known, begins_here);
      nested.push_back(whole == known.end() ? *at : *whole);
      at += whole == known.end() ? 1 : std::ssize(pieces_of.at(*whole));
    }
    if (nested.size() == 1) continue;  // equal ones are one item since simplify
    joins[{join->joined_axis(), pieces[0]}].push_back(i);
    pieces_of[i] = pieces;
    graph[i].inputs = std::move(nested);
  }
}

}  // namespace

void join_parts(Graph& graph) {
  const auto changes = [&](const Item& item) {
    const auto is_part = [&](int input) { return embeds(graph[input]) != nullptr; };
    return is_sum(item) && (item.inputs.size() > kMostTerms || std::ranges::count_if(item.inputs, is_part) > 1);
  };
  if (std::ranges::any_of(graph.items, changes)) {
    graph = Joiner(graph).run();
    remove_dead(graph);
  }
  nest_joins(graph);
}

}  // namespace tegula::compile
