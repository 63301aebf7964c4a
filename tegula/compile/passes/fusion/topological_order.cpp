#include "tegula/compile/passes/fusion/topological_order.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tegula::compile {
namespace {
constexpr std::uint64_t kRoom = std::uint64_t{1} << 40;  // between neighbours: as many nodes as fit behind each other, and many between two
}

int TopologicalOrder::add() {
  const int u = size();
  nodes_.emplace_back();
  merged_into_.push_back(u);
  link_behind(last_, {&u, 1});
  return u;
}

int TopologicalOrder::now(int u) const {
  int root = u;
  while (merged_into_[static_cast<std::size_t>(root)] != root) root = merged_into_[static_cast<std::size_t>(root)];
  while (u != root) u = std::exchange(merged_into_[static_cast<std::size_t>(u)], root);
  return root;
}

void TopologicalOrder::unlink(int u) {
  const int previous = at(u).previous, next = at(u).next;
  (previous < 0 ? first_ : at(previous).next) = next;
  (next < 0 ? last_ : at(next).previous) = previous;
}

// The nodes follow `place` (-1: nothing) in this order.
void TopologicalOrder::link_behind(int place, std::span<const int> nodes) {
  const int end = place < 0 ? first_ : at(place).next;
  int previous = place;
  for (const int u : nodes) {
    at(u).previous = previous;
    (previous < 0 ? first_ : at(previous).next) = u;
    previous = u;
  }
  at(previous).next = end;
  (end < 0 ? last_ : at(end).previous) = previous;
  const std::uint64_t begin = place < 0 ? 0 : at(place).label;
  const std::uint64_t room = end < 0 ? ~std::uint64_t{0} - begin : at(end).label - begin;
  const std::uint64_t step = std::min(kRoom, room / (nodes.size() + 1));
  if (step == 0) return spread();
  std::uint64_t label = begin;
  for (const int u : nodes) at(u).label = label += step;
}

// New labels for all, as far from each other as they go.
void TopologicalOrder::spread() {
  const std::uint64_t step = std::min(kRoom, ~std::uint64_t{0} / (nodes_.size() + 1));
  std::uint64_t label = 0;
  for (int u = first_; u >= 0; u = at(u).next) at(u).label = label += step;
}

// Searches a path from `from` to `to`; the edge between the two counts only if `direct`. Takes a step forwards and a step
// backwards in turn, and ends when either side has seen all nodes in between.
TopologicalOrder::Found TopologicalOrder::search(int from, int to, bool direct, bool bounded) {
  seen_behind_.clear(), seen_before_.clear();
  const std::uint64_t low = at(from).label, high = at(to).label;
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

// In the order in which they are now.
void TopologicalOrder::move_behind(int place, std::vector<int>& nodes) {
  std::ranges::sort(nodes, {}, [this](int u) { return at(u).label; });
  for (const int u : nodes) unlink(u);
  if (!nodes.empty()) link_behind(place, nodes);
}

void TopologicalOrder::need(int node, int other) {
  node = now(node), other = now(other);
  if (node == other) return;
  if (!at(node).before.empty() && at(node).before.back() == other) return;
  if (at(other).label > at(node).label) {
    if (search(node, other, true, false) == Found::NothingBehind) {
      seen_behind_.push_back(node);
      move_behind(other, seen_behind_);
    } else {
      seen_before_.push_back(other);
      move_behind(at(node).previous, seen_before_);
    }
  }
  at(node).before.push_back(other);
  at(other).after.push_back(node);
}

void TopologicalOrder::merge(int into, int from) {
  into = now(into), from = now(from);
  const bool into_is_first = at(into).label < at(from).label;
  const int first = into_is_first ? into : from, second = into_is_first ? from : into;
  // Moves the dependants of the first after the second, or the dependences of the second before the first, so that the two are neighbours.
  if (search(first, second, false, false) == Found::NothingBehind) {
    move_behind(second, seen_behind_);
    if (into == first) {
      std::vector<int> moved{into};
      move_behind(second, moved);
    }
  } else {
    move_behind(at(first).previous, seen_before_);
    if (into == second) {
      std::vector<int> moved{into};
      move_behind(first, moved);
    }
  }
  unlink(from);
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
