#pragma once
// Nodes (groups, calls) in an order in which they may run, kept while nodes are added and joined.
//
// Dependence is asked of a search between two labels, from both ends at once, and not of sets of all ancestors: a change looks only at what lies between
// (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", JEA 2006). Each node has a label behind those of all that it needs.

#include <cstdint>
#include <vector>

namespace tegula::compile {

class TopologicalOrder {
 public:
  /// A new node, behind all others.
  int add();
  int size() const { return static_cast<int>(nodes_.size()); }

  /// All nodes, each behind those that it needs. None must have been merged.
  std::vector<int> sorted() const;

  /// True if `later` depends on `earlier`, directly or not; also if the search gave up (kMostVisits): then the two are not merged.
  bool reaches(int earlier, int later);
  /// True if a third node must run between the two, whichever comes first; also if the search gave up.
  bool apart(int a, int b);
  /// True if one of the two depends directly on the other, given that nothing must run between them.
  bool adjacent(int a, int b) const;

  /// `node` needs `other`, of which `other` must not need `node`.
  void need(int node, int other);
  /// `from` becomes part of `into`; nothing must run between them.
  void merge(int into, int from);

 private:
  /// Dependences that one question may look at. Fixed, so that plans are the same everywhere; what it costs is that two nodes with more than
  /// this both behind the one and before the other count as dependent.
  static constexpr int kMostVisits = 4096;

  struct Node {
    std::int64_t label = 0;
    std::vector<int> before, after;  // nodes it needs, nodes that need it; may be merged by now
    std::uint32_t mark = 0;
  };
  enum class Found : std::uint8_t { Path, NothingBehind, NothingBefore, GaveUp };

  Node& at(int u) { return nodes_[static_cast<std::size_t>(u)]; }
  const Node& at(int u) const { return nodes_[static_cast<std::size_t>(u)]; }
  int now(int u) const;
  Found search(int from, int to, bool direct, bool bounded);
  void move(int node, std::int64_t past, int by);

  std::vector<Node> nodes_;
  mutable std::vector<int> merged_into_;  // itself while it is one of its own
  std::vector<int> seen_behind_, seen_before_;  // by the last search, without its ends
  std::uint32_t stamp_ = 0;
};

}  // namespace tegula::compile
