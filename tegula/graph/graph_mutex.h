#pragma once
// Several threads may evaluate and differentiate one graph. Who walks inputs of nodes that it did not make itself, or gives nodes values and
// lets their inputs go, holds this mutex; programs run without it. That a node has a value may be asked, and the value read, without it.

#include <mutex>

namespace tegula {

/// Recursive: a pass may make nodes, which are evaluated at once in eager mode. Never freed.
inline std::recursive_mutex& graph_mutex() {
  static auto* instance = new std::recursive_mutex;
  return *instance;
}

}  // namespace tegula
