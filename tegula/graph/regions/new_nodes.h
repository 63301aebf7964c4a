#pragma once
// The nodes that a function made.

#include <unordered_set>

#include "tegula/graph/node.h"

namespace tegula {

/// Collects the nodes that this thread makes from now on, until it goes.
class NewNodes {
 public:
  NewNodes();
  ~NewNodes();
  NewNodes(const NewNodes&) = delete;
  NewNodes& operator=(const NewNodes&) = delete;
  bool contains(const Node& node) const { return nodes_.contains(&node); }

 private:
  friend class Node;
  static thread_local NewNodes* innermost;
  std::unordered_set<const Node*> nodes_;
  NewNodes* around_;  // which has them too, once this has gone
};

}  // namespace tegula
