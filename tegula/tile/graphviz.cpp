// Programs as graphs for Graphviz: a box an instruction, a frame a region, an arrow a value.

#include "tegula/core/text.h"
#include "tegula/tile/ir.h"

namespace tegula::tile {
namespace {

class Drawing {
 public:
  explicit Drawing(const Program& program) : program_(program) {}

  std::string run() {
    text_ =
        "digraph " + dot_quoted(program_.name) + " {\n  node [shape=box, style=filled, fillcolor=\"#CBE3F3\", fontname=\"monospace\"];\n";
    region(program_.body, 1);
    return text_ + arrows_ + "}\n";
  }

 private:
  static std::string node(Id id) { return "i" + std::to_string(id); }
  void line(int depth, const std::string& text) { text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + "\n"; }
  void arrow(Id from, Id to, const char* more = "") { arrows_ += "  " + node(from) + " -> " + node(to) + more + ";\n"; }

  void region(const Region& region, int depth) {
    for (const Id id : region.parameters)
      line(depth, node(id) + " [label=" + dot_quoted("%" + std::to_string(id)) + ", fillcolor=\"#FFFFFF\"];");
    for (const Id id : region.body) {
      const Instruction& instruction = program_[id];
      const bool effect = has_effect(instruction.word);
      line(depth, node(id) + " [label=" + dot_quoted(to_string(program_, id)) + (effect ? ", fillcolor=\"#F6D5B8\"" : "") + "];");
      for (const Id operand : instruction.operands) arrow(operand, id);
      for (std::size_t i = 0; i < instruction.regions.size(); ++i) {
        line(depth, "subgraph cluster_" + std::to_string(id) + "_" + std::to_string(i) + " {");
        this->region(instruction.regions[i], depth + 1);
        line(depth, "}");
        for (const Id result : instruction.regions[i].results) arrow(result, id, " [style=dashed]");
      }
    }
  }

  const Program& program_;
  std::string text_, arrows_;
};

}  // namespace

std::string to_dot(const Program& program) { return Drawing(program).run(); }

}  // namespace tegula::tile
