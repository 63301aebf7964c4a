#include "tegula/compile/passes/fusion/topological_order.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

namespace tegula::compile {
namespace {
constexpr std::int64_t kRoom = std::int64_t{1} << 32;  // between neighbours: as many nodes as fit between two
}

int TopologicalOrder::add() {
  const int u = size();
  nodes_.push_back({.label = kRoom * u});
  merged_into_.push_back(u);
  return u;
}

std::vector<int> TopologicalOrder::sorted() const {
  std::vector<int> all(nodes_.size());
  std::iota(all.begin(), all.end(), 0);
  std::ranges::stable_sort(all, {}, [&](int u) { return at(u).label; });
  return all;
}

int TopologicalOrder::now(int u) const {
  int root = u;
  while (merged_into_[static_cast<std::size_t>(root)] != root) root = merged_into_[static_cast<std::size_t>(root)];
  while (u != root) u = std::exchange(merged_into_[static_cast<std::size_t>(u)], root);
  return root;
}

// Moves a node behind the label (`by` 1) or before it (-1), and the nodes that need it or that it needs along with it.
void TopologicalOrder::move(int node, std::int64_t past, int by) {
  std::priority_queue<std::pair<std::int64_t, int>> moved;  // with their labels before: what a node needs is moved ahead of it
  const auto pass = [&](int u, std::int64_t label) {
    if (by * (at(u).label - label) > 0) return;
    moved.emplace(-by * at(u).label, u);
    at(u).label = label + by;
  };
  for (pass(node, past); !moved.empty();) {
    const int u = moved.top().second;
    moved.pop();
    for (const int v : by > 0 ? at(u).after : at(u).before)
      if (now(v) != u) pass(now(v), at(u).label);
  }
}

// Searches a path from `from` to `to`; the edge between the two counts only if `direct`. Takes a step forwards and a step
// backwards in turn, and ends when either side has seen all nodes in between.
TopologicalOrder::Found TopologicalOrder::search(int from, int to, bool direct, bool bounded) {
  seen_behind_.clear(), seen_before_.clear();
  const std::int64_t low = at(from).label, high = at(to).label;
  if (stamp_ > ~std::uint32_t{0} - 2) {
    for (Node& node : nodes_) node.mark = 0;
    stamp_ = 0;
  }
  const std::uint32_t behind = ++stamp_, before = ++stamp_;
  at(from).mark = behind, at(to).mark = before;
  struct Side {
    int node;  // whose dependences are being looked at; those seen after it wait in the list
    std::size_t edge = 0, next = 0;
  } forwards{from}, backwards{to};
  const auto step = [&](Side& side, const std::vector<int> Node::* edges, std::vector<int>& seen, std::uint32_t mine, std::uint32_t others,
                        int start, int goal, Found nothing) -> std::optional<Found> {
    while (side.edge >= (at(side.node).*edges).size()) {
      if (side.next >= seen.size()) return nothing;
      side.node = seen[side.next++], side.edge = 0;
    }
    const int other = now((at(side.node).*edges)[side.edge++]);
    Node& found = at(other);
    if (found.mark == mine) return std::nullopt;
    if (found.mark == others) return other == goal && side.node == start && !direct ? std::nullopt : std::optional(Found::Path);
    if (found.label <= low || found.label >= high) return std::nullopt;
    found.mark = mine;
    seen.push_back(other);
    return std::nullopt;
  };
  for (int visits = 0; !bounded || visits < kMostVisits; visits += 2) {
    if (const auto end = step(forwards, &Node::after, seen_behind_, behind, before, from, to, Found::NothingBehind)) return *end;
    if (const auto end = step(backwards, &Node::before, seen_before_, before, behind, to, from, Found::NothingBefore)) return *end;
  }
  return Found::GaveUp;
}

bool TopologicalOrder::reaches(int earlier, int later) {
  earlier = now(earlier), later = now(later);
  if (earlier == later) return true;
  if (at(earlier).label > at(later).label) return false;
  const Found found = search(earlier, later, true, true);
  return found == Found::Path || found == Found::GaveUp;
}

bool TopologicalOrder::apart(int a, int b) {
  a = now(a), b = now(b);
  if (at(a).label > at(b).label) std::swap(a, b);
  const Found found = search(a, b, false, true);
  return found == Found::Path || found == Found::GaveUp;
}

bool TopologicalOrder::adjacent(int a, int b) const {
  a = now(a), b = now(b);
  if (at(a).label > at(b).label) std::swap(a, b);
  const std::vector<int>&behind = at(a).after, &before = at(b).before;
  const bool shorter = behind.size() < before.size();
  return std::ranges::any_of(shorter ? behind : before, [&](int u) { return now(u) == (shorter ? b : a); });
}

void TopologicalOrder::need(int node, int other) {
  node = now(node), other = now(other);
  if (node == other) return;
  if (!at(node).before.empty() && at(node).before.back() == other) return;
  if (at(other).label >= at(node).label) {
    if (search(node, other, true, false) == Found::NothingBehind) move(node, at(other).label, 1);
    else move(other, at(node).label, -1);
  }
  at(node).before.push_back(other);
  at(other).after.push_back(node);
}

void TopologicalOrder::merge(int into, int from) {
  into = now(into), from = now(from);
  const int first = at(into).label < at(from).label ? into : from, second = first == into ? from : into;
  // Moves the dependants of the first behind the second, or the dependences of the second before the first: nothing is between them then.
  if (search(first, second, false, false) == Found::NothingBehind) {
    for (const int u : at(first).after)
      if (now(u) != first && now(u) != second) move(now(u), at(second).label, 1);
    at(into).label = at(second).label;
  } else {
    for (const int u : at(second).before)
      if (now(u) != first && now(u) != second) move(now(u), at(first).label, -1);
    at(into).label = at(first).label;
  }
  merged_into_[static_cast<std::size_t>(from)] = into;
  const auto append = [](std::vector<int>& to, std::vector<int>& list) {
    if (to.size() < list.size()) to.swap(list);
    to.insert(to.end(), list.begin(), list.end());
    std::vector<int>().swap(list);
  };
  append(at(into).before, at(from).before);
  append(at(into).after, at(from).after);
}

}  // namespace tegula::compile
