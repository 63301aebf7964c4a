#include <algorithm>
#include <unordered_set>

#include "tegula/core/text.h"
#include "tegula/onnx/file.h"

namespace tegula::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

/// Adds the names that a node reads, its subgraphs included.
void add_read(const Node& node, Names& names) {
  names.insert(node.inputs.begin(), node.inputs.end());
  for (const Attribute& one : node.attributes) {
    if (!one.graph) continue;
    for (const Node& inner : one.graph->nodes) add_read(inner, names);
    for (const ValueType& output : one.graph->outputs) names.insert(output.name);
  }
}

}  // namespace

void drop_unread(Graph& graph) {
  Names needed;
  for (const ValueType& one : graph.outputs) needed.insert(one.name);
  std::vector<Node> nodes;
  while (!graph.nodes.empty()) {  // nodes stand behind what they read
    Node& node = graph.nodes.back();
    if (std::ranges::any_of(node.outputs, [&](const std::string& name) { return !name.empty() && needed.contains(name); })) {
      add_read(node, needed);
      nodes.push_back(std::move(node));
    }
    graph.nodes.pop_back();
  }
  std::ranges::reverse(nodes);
  graph.nodes = std::move(nodes);
  std::erase_if(graph.initializers, [&](const StoredArray& one) { return !needed.contains(one.name); });
}

void cut(File& file, const std::vector<std::string>& results) {
  Graph& graph = file.graph;
  Names made;
  for (const Node& node : graph.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  for (const StoredArray& one : graph.initializers) made.insert(one.name);
  for (const ValueType& one : graph.inputs) made.insert(one.name);
  for (const std::string& name : results) {
    if (made.contains(name)) continue;
    throw Error({.op = "onnx",
                 .got = printable(file.path + ": no value " + name),
                 .expected = "names of values in the graph",
                 .advice = "tegula info --all FILE lists nodes with the values that they make"});
  }
  graph.outputs.clear();
  for (const std::string& name : results) graph.outputs.push_back({.name = name});
  drop_unread(graph);
  Names read(results.begin(), results.end());
  for (const Node& node : graph.nodes) add_read(node, read);
  std::erase_if(graph.inputs, [&](const ValueType& one) { return !read.contains(one.name); });
}

}  // namespace tegula::onnx
