#pragma once
// The graph for people, before any pass.

#include <span>
#include <string>

#include "tegula/graph/variable.h"

namespace tegula {

struct DotOptions {
  Parameters parameters = {};  // leaves that are their values get these names
  std::string title = {};
};
/// The graph below `outputs` in Graphviz' language (dot -Tsvg): one box a node with op, shape and dtype. Values that are known are leaves; numbers
/// and index patterns are left out.
std::string to_dot(std::span<const Tensor> outputs, const DotOptions& options = {});

}  // namespace tegula
