#include "tegula/graph/print.h"

#include <unordered_map>
#include <vector>

#include "tegula/core/text.h"
#include "tegula/graph/below.h"

namespace tegula {
namespace {

/// "conv2d\n(64, 12, 28, 28) f32"
std::string label(const Node& node, std::string_view name) {
  std::string text(name);
  if (const std::string details = description(node.op()); !details.empty()) text += " " + details;
  text += "\n" + to_string(node.shape()) + " " + std::string(tegula::name(node.dtype()));
  for (std::size_t k = 1; k < node.results().size(); ++k)
    text += ", " + to_string(node.results()[k].shape) + " " + std::string(tegula::name(node.results()[k].dtype));
  return text;
}

const char* colour(const Node& node) {
  switch (node.op().role()) {
    case Role::Leaf: return "#FFFFFF";
    case Role::Library: return "#F6D5B8";
    case Role::Kernel: return "#E8C7DD";
    case Role::Reduce: return "#BFE3D6";
    case Role::View:
    case Role::Barrier:
    case Role::Stop:
    case Role::Same: return "#EEEEEE";
    default: return "#CBE3F3";
  }
}

bool hidden(const Node& node) { return node.op().role() == Role::Scalar || node.op().role() == Role::Index; }

}  // namespace

std::vector<const Node*> nodes_below(std::span<const Tensor> outputs) {
  std::vector<const Node*> nodes;
  for (const Tensor& output : outputs) nodes.push_back(output.node().get());
  return nodes_below(std::move(nodes), [](const Node& node) { return node.has_value(); });
}

std::string to_dot(std::span<const Tensor> outputs, const DotOptions& options) {
  std::unordered_map<const Node*, std::string> names;
  for (const Parameter& parameter : options.parameters) names[parameter.cell->value().node().get()] = parameter.name;
  for (const Tensor& output : outputs) names.erase(output.node().get());  // a parameter's new value is computed, not given

  std::unordered_map<const Node*, std::size_t> number;
  std::string boxes, edges;
  for (const Node* node : nodes_below(outputs)) {
    if (hidden(*node)) continue;
    const std::size_t id = number.emplace(node, number.size()).first->second;
    const auto given = names.find(node);
    const bool leaf = node->has_value() || node->op().role() == Role::Leaf;
    const std::string name = given != names.end() ? given->second : leaf ? "input" : std::string(node->op().name());
    boxes += "  n" + std::to_string(id) + " [label=" + dot_quoted(label(*node, name)) + ", fillcolor=\"" +
             (given != names.end() ? "#F5EFA8" : colour(*node)) + "\"];\n";
    if (leaf) continue;
    for (const auto& input : node->inputs()) {
      const auto from = number.find(input.get());
      if (from != number.end()) edges += "  n" + std::to_string(from->second) + " -> n" + std::to_string(id) + ";\n";
    }
  }
  std::string text = "digraph tegula {\n  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10];\n";
  if (!options.title.empty()) text += "  label=" + dot_quoted(options.title) + ";\n";
  return text + boxes + edges + "}\n";
}

}  // namespace tegula
