#include <algorithm>
#include <unordered_set>

#include "tegula/core/text.h"
#include "tegula/onnx/file.h"

namespace tegula::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

/// What a node reads, its subgraphs included.
void add_read(const Node& node, Names& names) {
  names.insert(node.inputs.begin(), node.inputs.end());
  for (const Attribute& one : node.attributes) {
    if (!one.graph) continue;
    for (const Node& inner : one.graph->nodes) add_read(inner, names);
    for (const ValueType& output : one.graph->outputs) names.insert(output.name);
  }
}

}  // namespace

void cut(File& file, const std::vector<std::string>& results) {
  Graph& graph = file.graph;
  Names needed(results.begin(), results.end()), made;
  std::vector<bool> stays(graph.nodes.size(), false);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {  // nodes stand behind what they read
    const Node& node = graph.nodes[i];
    stays[i] = std::ranges::any_of(node.outputs, [&](const std::string& name) { return !name.empty() && needed.contains(name); });
    made.insert(node.outputs.begin(), node.outputs.end());
    if (stays[i]) add_read(node, needed);
  }
  for (const StoredArray& one : graph.initializers) made.insert(one.name);
  for (const ValueType& one : graph.inputs) made.insert(one.name);
  for (const std::string& name : results) {
    if (made.contains(name)) continue;
    throw Error({.op = "onnx",
                 .got = printable(file.path + ": no value " + name),
                 .expected = "names of values in the graph",
                 .advice = "tegula info --all FILE lists nodes with the values that they make"});
  }
  std::vector<ValueType> outputs;
  for (const std::string& name : results) outputs.push_back({.name = name});
  const auto is_needed = [&](const auto& one) { return needed.contains(one.name); };
  std::vector<StoredArray> initializers;
  std::ranges::copy_if(graph.initializers, std::back_inserter(initializers), is_needed);
  std::vector<ValueType> inputs;
  std::ranges::copy_if(graph.inputs, std::back_inserter(inputs), is_needed);
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < stays.size(); ++i)
    if (stays[i]) nodes.push_back(graph.nodes[i]);
  graph = {graph.name, std::move(nodes), std::move(initializers), std::move(inputs), std::move(outputs)};
}

}  // namespace tegula::onnx
