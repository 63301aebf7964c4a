#pragma once
// Several threads may evaluate and differentiate one graph. Code that walks the inputs of nodes it did not make itself, or that gives nodes values
// and releases their inputs, holds this mutex; programs run without it. Node::has_value() and the value may be read without it.

#include <mutex>

namespace tegula {

/// Recursive: a pass may make nodes, which are evaluated at once in eager mode. Never freed.
inline std::recursive_mutex& graph_mutex() {
  static auto* instance = new std::recursive_mutex;
  return *instance;
}

}  // namespace tegula
