#pragma once
// Shared by graph files and plan files. For graph_file.cpp and plan_file.cpp.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/formats/graph_file.h"
#include "tegula/formats/stored_graph.h"

namespace tegula {

struct GraphFunction::State {
  std::vector<GraphValue> inputs, outputs;
  Parameters variables;
  io::Metadata metadata;
  formats::StoredGraph graph;
  std::vector<Ref<Cell>> cells;
  std::vector<Tensor> constants;
};

namespace formats {

/// The metadata of a plan file, and how the names of its further tensors begin: load_graph leaves both alone.
inline constexpr std::string_view kPlanKey = "tegula.plan", kPlanTensors = "tegula.plan";

/// A function that was traced to be written to a file.
struct GraphContents {
  GraphFunction::State function;
  std::vector<std::string> constants = {};  // names of tensors
  io::NamedArrays arrays;                   // Variables and constants
  io::Metadata metadata;                    // with the graph
};
/// Throws what save_graph throws.
GraphContents contents_of(const GraphPath& path, const GraphFileOptions& options, const Parameters& module_names,
                          std::span<const Tensor> examples, const Body& body);

/// Throws Error unless there is a tensor of its dtype and shape for each input.
void require_arguments(const std::vector<GraphValue>& expected, std::span<const Tensor> inputs, const Line& where);
void require_one_result(const std::vector<GraphValue>& outputs, const Line& where);
/// True if it is a safetensors file with this metadata key; false for a file that cannot be read.
bool has_metadata(const std::string& path, std::string_view key);
/// The results, as nodes.
std::vector<Tensor> call_graph(const GraphFunction::State& f, std::span<const Tensor> inputs);

}  // namespace formats
}  // namespace tegula
