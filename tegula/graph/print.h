#pragma once
// The graph for people, before any pass.

#include <span>
#include <string>
#include <vector>

#include "tegula/graph/variable.h"

namespace tegula {

/// All nodes below the outputs, and the outputs, in program order. A node with a value is a leaf: nodes below it are not listed.
std::vector<const Node*> nodes_below(std::span<const Tensor> outputs);

struct DotOptions {
  Parameters parameters = {};  // leaves that are their values get these names
  std::string title = {};
};
/// The graph below `outputs` in Graphviz' language (dot -Tsvg): one box a node with op, shape and dtype. Values that are known are leaves; numbers
/// and index patterns are left out.
std::string to_dot(std::span<const Tensor> outputs, const DotOptions& options = {});

}  // namespace tegula
