// Texts of a plan: one step a line, what it reads and writes, how much it moves; and for Graphviz a box a step, an arrow where one waits for another.

#include <algorithm>

#include "tegula/compile/plan/plan.h"
#include "tegula/compile/plan/prepare_loop.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/text_table.h"

namespace tegula::compile {
namespace {

std::string place(const Plan& plan, int item) {
  const Storage& storage = plan.storage[index(item)];
  const std::string name = "%" + std::to_string(item), from = storage.offset > 0 ? "+" + std::to_string(storage.offset) : "";
  switch (storage.kind) {
    case Storage::Kind::Leaf: return name + "=leaf#" + std::to_string(storage.index);
    case Storage::Kind::Output: return name + "=out#" + std::to_string(storage.index) + from;
    case Storage::Kind::Update: return name + "=cell#" + std::to_string(storage.index) + from;
    case Storage::Kind::Arena: return name + "@" + std::to_string(storage.offset);
    default: return name;
  }
}

}  // namespace

std::string to_string(const Plan& plan) {
  std::string text;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    text += std::to_string(s) + ". " + (step.launch() ? "tile " : step.loop() ? "loop " : "call ") + step.name;
    if (step.sets().size() > 1) text += " x" + std::to_string(step.sets().size());
    text += ":";
    for (int item : step.reads) text += " " + place(plan, item);
    text += " ->";
    for (int item : step.writes) text += " " + place(plan, item);
    text += "  (" + bytes_text(static_cast<std::size_t>(step.bytes)) +
            (step.threads > 1 ? ", " + std::to_string(step.threads) + " threads" : "") + (step.streaming ? ", streaming" : "") +
            (step.checks ? ", checks" : "") + (step.guarded ? ", guarded" : "") + ")";
    if (const std::string where = tegula::to_string(step.origin.where); !where.empty()) text += "  // " + where;
    text += "\n";
    if (const Plan* const body = step.loop() ? body_of(*step.loop()) : nullptr) text += indented(to_string(*body));
  }
  return text + "arena " + bytes_text(plan.arena_bytes) + "\n";
}

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
