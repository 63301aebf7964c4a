#pragma once
// Records nodes as a StoredGraph.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/compile/jit.h"
#include "tegula/formats/stored_graph.h"

namespace tegula::formats {

/// A function, traced once.
struct Recording {
  StoredGraph graph;  // its inputs are the arguments
  std::vector<Ref<Cell>> cells;
  std::vector<Tensor> constants;
};

using Body = std::function<compile::Results(std::span<const Tensor>)>;
/// Traces the function over tensors of these shapes and dtypes; with the gradients of its custom functions, or without. Throws Error in the name of
/// `op` for functions that a file cannot hold.
Recording record(std::span<const Result> arguments, const Body& body, bool gradients, const Line& where,
                 std::string_view op = "save_graph");

/// A name for each cell, each once: its name in one of the lists, or the one under which parameters(net) listed it last, or a number.
std::vector<std::string> variable_names(const std::vector<Ref<Cell>>& cells, const Parameters& given, const Parameters& of_module);

}  // namespace tegula::formats
