// A plan as a graph for Graphviz: a box a step, an arrow where one waits for another.

#include "tegula/compile/plan/plan.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"

namespace tegula::compile {

std::string to_dot(const Plan& plan) {
  std::string text = "digraph plan {\n  node [shape=box, style=filled, fontname=\"monospace\"];\n";
  const auto after = dependencies(plan);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    std::string label = std::to_string(s) + ". " + step.name.substr(0, step.name.find(" ["));
    if (step.sets().size() > 1) label += " x" + std::to_string(step.sets().size());
    label += "\n" + bytes_text(static_cast<std::size_t>(step.bytes));
    if (const std::string where = tegula::to_string(step.origin.where); !where.empty()) label += "\n" + where;
    text += "  s" + std::to_string(s) + " [label=" + dot_quoted(label) + ", fillcolor=" + (step.is_call() ? "\"#F6D5B8\"" : "\"#CBE3F3\"") +
            "];\n";
    for (const int earlier : after[s]) text += "  s" + std::to_string(earlier) + " -> s" + std::to_string(s) + ";\n";
  }
  return text + "}\n";
}

}  // namespace tegula::compile
