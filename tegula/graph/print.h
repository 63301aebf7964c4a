#pragma once
// The graph for people, before any pass.

#include <span>
#include <string>
#include <vector>

#include "tegula/graph/variable.h"

namespace tegula {

/// All nodes below the outputs, themselves included, in program order. What has a value is a leaf: nothing below it is listed.
std::vector<const Node*> nodes_below(std::span<const Tensor> outputs);

struct DotOptions {
  Parameters parameters = {};  // leaves that are their values get these names
  std::string title = {};
};
/// The graph below `outputs` in Graphviz' language (dot -Tsvg): one box a node with op, shape and dtype. Values that are known are leaves; numbers
/// and index patterns are left out.
std::string to_dot(std::span<const Tensor> outputs, const DotOptions& options = {});

}  // namespace tegula
