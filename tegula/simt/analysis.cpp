#include "tegula/simt/analysis.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "tegula/simt/decide/products.h"

namespace tegula::gpu {

using tile::Id;
using tile::Instruction;
using tile::Word;

MainTile main_tile(const tile::Program& program, int architecture) {
  if (const auto sums = shape_of_products(program, architecture))
    return {(*sums)[0], (*sums)[1], true, widths_of_products(program, *sums, architecture), merges_axes(program)};
  MainTile tile;
  std::int64_t largest = 0;
  bool flat = true;
  for (const Instruction& self : program.instructions) {
    const Shape& shape = self.type.shape;
    if (!tile::has_result(self.word) || shape.empty()) continue;
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
  if (merges_axes && shape.rank() > 2) return is_flat(in_two_axes(shape));
  if (shape.rank() == 1) return shape[0] != rows && shape[0] != columns;
  if (shape.rank() != 2) return true;
  if (shape[0] == rows && std::ranges::find(widths, shape[1]) != widths.end()) return false;
  return (shape[0] != 1 && shape[0] != rows) || (shape[1] != 1 && shape[1] != columns);
}

namespace {

std::vector<tile::ArgumentFact> arguments_of(const Specialisation& specialisation) {
  std::vector<tile::ArgumentFact> arguments;
  for (const std::uint8_t fact : specialisation.facts) arguments.push_back({.twos = fact & ~kShort, .is_short = (fact & kShort) != 0});
  return arguments;
}

}  // namespace

Analysis::Analysis(const tile::Program& program, const Specialisation& specialisation, int architecture)
    : Analysis(program, specialisation, main_tile(program, architecture)) {}

Analysis::Analysis(const tile::Program& program, const Specialisation& specialisation, const MainTile& main)
    : Facts(
          program, arguments_of(specialisation), [main](const Shape& shape) { return main.is_flat(shape); }, main.of_products),
      main_(main),
      guarded_(specialisation.guarded),
      maps_(specialisation.maps && !specialisation.many_sets) {
  name_parameters();
}

/// Names of the program where they are plain, made safe where they could be a word of C++ or a name of ours.
void Analysis::name_parameters() {
  for (const tile::Parameter& parameter : program().parameters) {
    std::string name;
    for (const char c : parameter.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    static constexpr std::string_view kLetters[] = {"in", "out", "part", "c", "n", "s", "o", "x", "y", "chunks", "tiles", "scratch", "v"};
    const std::string_view letters = std::string_view(name).substr(0, name.find_first_of("0123456789_"));
    if (std::ranges::find(kLetters, letters) == std::end(kLetters) || letters == name || letters == "v") name = "p_" + name;
    while (std::ranges::find(parameter_names_, simt::Name(name)) != parameter_names_.end()) name += "_";
    parameter_names_.emplace_back(name);
  }
}

}  // namespace tegula::gpu
