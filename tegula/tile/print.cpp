// Programs as text. For and If show their regions, each ending in what it yields:
//   %7 = for %1, %2, %3, %4 with (%8 : i64, %9 : f32[8]) {  // softmax.cpp:12
//     %10 = add %9, %5 : f32[8]
//     yield %10
//   }

#include "tegula/core/text.h"
#include "tegula/tile/access_hints.h"
#include "tegula/tile/atomic.h"
#include "tegula/tile/ir.h"
#include "tegula/tile/sort_order.h"

namespace tegula::tile {
namespace {

std::string id_text(Id id) { return "%" + std::to_string(id); }

std::string list(const std::vector<Id>& ids) {
  std::string text;
  for (const Id id : ids) text += (text.empty() ? "" : ", ") + id_text(id);
  return text;
}

std::string location_text(const Line& where) {
  if (where.line() == 0) return "";
  std::string_view file = where.file_name();
  file.remove_prefix(file.find_last_of('/') + 1);  // npos + 1 is 0
  return "  // " + std::string(file) + ":" + std::to_string(where.line());
}

/// The attributes of an instruction, in words.
std::string attribute_text(const Program& program, const Instruction& instruction) {
  const std::string number = std::to_string(instruction.attribute);
  switch (instruction.word) {
    case Word::Constant: {
      if (is_float(instruction.type.dtype)) return number_text(instruction.real);
      if (instruction.type.dtype == boolean) return instruction.integer ? "true" : "false";
      return instruction.type.dtype == u64 ? std::to_string(static_cast<std::uint64_t>(instruction.integer))
                                           : std::to_string(instruction.integer);
    }
    case Word::Parameter: {
      const auto index = static_cast<std::size_t>(instruction.attribute);
      return index < program.parameters.size() ? program.parameters[index].name : number;
    }
    case Word::ProgramId:
    case Word::NumPrograms:
    case Word::Arange:
    case Word::Result:
    case Word::Assert: return number;
    case Word::ExpandDims: return "axis " + number;
    case Word::Gather: return "axis " + number;
    case Word::Dot: return instruction.attribute > 0 ? "by " + number + " terms" : "";
    case Word::Load:
    case Word::Store: return to_string(AccessHints::of(instruction));
    case Word::Hint: {
      static constexpr const char* kKinds[] = {"multiple_of ", "max_contiguous ", "max_constancy "};
      return instruction.attribute >= 0 && instruction.attribute < 3
                 ? kKinds[instruction.attribute] + std::to_string(instruction.attribute2)
                 : number;
    }
    case Word::InlineAsm:
    case Word::Print: {
      const auto index = static_cast<std::size_t>(instruction.attribute);
      return index < program.texts.size() ? "\"" + program.texts[index].text + "\"" : number;
    }
    case Word::Atomic: return to_string(Atomic::of(instruction));
    case Word::Reduce:
    case Word::ArgReduce:
    case Word::Scan: return std::string(name(instruction.kind)) + " axis " + number;
    case Word::Sort:
    case Word::ArgSort: {
      const SortOrder order = SortOrder::of(instruction);
      return (order.ordered > 0 ? "first " + std::to_string(order.ordered) + " " : "") +
             (order.descending ? "descending axis " : "ascending axis ") + number;
    }
    case Word::Narrow: {
      return is_dtype(instruction.attribute) ? std::string(name(static_cast<DType>(instruction.attribute))) : number;
    }
    default: return "";
  }
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string run() {
    text_ = "program " + program_.name + "(";
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      const Parameter& parameter = program_.parameters[i];
      text_ += (i ? ", " : "") + parameter.name + ": " + (parameter.writable ? "writable " : "") +
               to_string(Type{parameter.dtype, parameter.pointer, {}});
    }
    text_ += ") {\n";
    region(program_.body, 1);
    return text_ + "}\n";
  }

 private:
  void line(int depth, const std::string& text) { text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + '\n'; }

  void region(const Region& region, int depth) {
    for (const Id id : region.body) {
      const Instruction& instruction = program_[id];
      const std::string head = to_string(program_, id), comment = location_text(instruction.where);
      if (instruction.regions.empty()) {
        line(depth, head + comment);
        continue;
      }
      for (std::size_t i = 0; i < instruction.regions.size(); ++i) {
        line(depth, i == 0 ? head + parameters(instruction.regions[i]) + " {" + comment : "} else {");
        this->region(instruction.regions[i], depth + 1);
      }
      line(depth, "}");
    }
    if (!region.results.empty()) line(depth, "yield " + list(region.results));
  }

  std::string parameters(const Region& region) const {
    if (region.parameters.empty()) return "";
    std::string text;
    for (const Id id : region.parameters) text += (text.empty() ? " with (" : ", ") + id_text(id) + " : " + to_string(program_[id].type);
    return text + ")";
  }

  const Program& program_;
  std::string text_;
};

}  // namespace

std::string to_string(const Program& program, Id id) {
  const Instruction& instruction = program[id];
  std::string text;
  if (has_result(instruction.word) || !has_effect(instruction.word))
    text += id_text(id) + " = ";  // loops and branches are named by their results
  text += name(instruction.word);
  if (const std::string attribute = attribute_text(program, instruction); !attribute.empty()) text += " " + attribute;
  if (!instruction.operands.empty()) text += (instruction.word == Word::Result ? " of " : " ") + list(instruction.operands);
  if (has_result(instruction.word)) text += " : " + to_string(instruction.type);
  return text;
}

std::string to_string(const Program& program) { return Printer(program).run(); }

}  // namespace tegula::tile
