#pragma once
// The float scalars that a program has made outside of traces and not looked at: losses, and sums of them.

#include <vector>

#include "tegula/graph/node.h"

namespace tegula {

/// The newest few of each thread that have no value yet. They are not kept alive by this. Thread-safe.
class RecentScalars {
 public:
  /// A new node of this thread.
  static void note(const Ref<Node>& node);
  /// While one lives, scalars of this thread are not noted: those of the library's own formulas, which no user reads.
  class Unnoted {
   public:
    Unnoted();
    ~Unnoted();
    Unnoted(const Unnoted&) = delete;
    Unnoted& operator=(const Unnoted&) = delete;
  };
  /// True if a scalar made before `sequence` (Node::sequence) is alive and has no value.
  static bool any_before(std::uint64_t sequence);
  /// The scalars that are alive, oldest first; forgets all of them.
  static std::vector<Ref<Node>> take();

 private:
  friend class Node;
  static void forget(const Node& node);
};

}  // namespace tegula
