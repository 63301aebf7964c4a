#pragma once
// A StoredGraph as JSON: the content of a graph file beside its tensors. Each node has its op's name in a table of ops, the numbers of the nodes that it reads, its
// dtype and shape, its attributes, and its line.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tegula/formats/stored_graph.h"
#include "tegula/graph/op_table.h"

namespace tegula::formats {

nlohmann::json to_json(const StoredGraph& graph);

/// The tables that the indices of a graph's inputs, Variables and constants refer to.
struct Tables {
  std::vector<Result> inputs, variables;
  std::vector<Tensor> constants;
};

/// The graph that `json` describes, each node checked against its operands. Throws Error in the name of load_graph, with `file` and the node's number, for an
/// invalid graph, for ops that the table lacks, and for kernels of the file's author unless they are allowed.
StoredGraph graph_from_json(const nlohmann::json& json, const Tables& tables, const OpTable& ops, const std::string& file,
                            bool tile_kernels);

}  // namespace tegula::formats
