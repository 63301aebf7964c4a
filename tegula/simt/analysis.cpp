#include "tegula/simt/analysis.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

namespace tegula::gpu {

using tile::Id;
using tile::Instruction;
using tile::Word;

std::string literal(double value, DType dtype) {
  const std::string type = dtype == DType::f32 ? "float" : "double";
  if (dtype == DType::f32) value = static_cast<double>(static_cast<float>(value));
  if (std::isnan(value)) return "not_a_number<" + type + ">()";
  if (std::isinf(value)) return (value < 0 ? "-" : "") + std::string("infinite<") + type + ">()";
  char text[48];
  std::snprintf(text, sizeof text, dtype == DType::f32 ? "%.9g" : "%.17g", value);
  std::string number = text;
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  if (dtype == DType::f32) number += "f";
  return value < 0 || std::signbit(value) ? "(" + number + ")" : number;
}

std::string literal(std::int64_t value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  const std::string suffix = dtype == DType::i64 ? "ll" : "";
  const bool least =
      dtype == DType::i64 ? value == std::numeric_limits<std::int64_t>::min() : value == std::numeric_limits<std::int32_t>::min();
  if (least) return "(" + std::to_string(value + 1) + suffix + " - 1)";
  const std::string number = std::to_string(value) + suffix;
  return value < 0 ? "(" + number + ")" : number;
}

MainTile main_tile(const tile::Program& program) {
  MainTile tile;
  std::int64_t largest = 0;
  bool flat = true;
  for (const Instruction& self : program.instructions) {
    const Shape& shape = self.type.shape;
    if (!tile::has_result(self.word) || shape.empty() || self.word == Word::For || self.word == Word::If) continue;
    const bool line = shape.rank() != 2;
    if (numel(shape) < largest || (numel(shape) == largest && (line || !flat))) continue;
    largest = numel(shape);
    flat = line;
    tile = {line ? 1 : shape[0], line ? numel(shape) : shape[1]};
  }
  return tile;
}

bool MainTile::is_flat(const Shape& shape) const {
  if (numel(shape) == 1) return false;
  if (shape.rank() == 1) return shape[0] != rows && shape[0] != columns;
  if (shape.rank() != 2) return true;
  return (shape[0] != 1 && shape[0] != rows) || (shape[1] != 1 && shape[1] != columns);
}

namespace {

std::vector<tile::ArgumentFact> arguments_of(const Specialisation& specialisation) {
  std::vector<tile::ArgumentFact> arguments;
  for (const std::uint8_t fact : specialisation.facts) arguments.push_back({.twos = fact & ~kShort, .is_short = (fact & kShort) != 0});
  return arguments;
}

}  // namespace

Analysis::Analysis(const tile::Program& program, const Specialisation& specialisation) : Analysis(program, specialisation, main_tile(program)) {}

Analysis::Analysis(const tile::Program& program, const Specialisation& specialisation, const MainTile& main)
    : Facts(program, arguments_of(specialisation), [main](const Shape& shape) { return main.is_flat(shape); }),
      main_(main),
      guarded_(specialisation.guarded) {
  name_parameters();
}

/// Names of the program where they are plain, made safe where they could be a word of C++ or a name of ours.
void Analysis::name_parameters() {
  std::set<std::string> taken;
  for (const tile::Parameter& parameter : program().parameters) {
    std::string name;
    for (const char c : parameter.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    static const std::set<std::string> kLetters{"in", "out", "part", "c", "n", "s", "o", "x", "y", "chunks", "tiles", "scratch", "v"};
    const std::string letters = name.substr(0, name.find_first_of("0123456789_"));
    if (!kLetters.contains(letters) || letters == name || letters == "v") name = "p_" + name;
    while (!taken.insert(name).second) name += "_";
    parameter_names_.push_back(name);
  }
}

std::string Analysis::name(Id id) const {
  id = resolve(id);
  const Instruction& self = program()[id];
  if (self.word == Word::Parameter) return parameter_names_[static_cast<std::size_t>(self.attribute)];
  if (self.word == Word::Constant)
    return is_float(self.type.dtype) ? literal(self.real, self.type.dtype) : literal(self.integer, self.type.dtype);
  return "v" + std::to_string(id);
}

}  // namespace tegula::gpu
