#include "tegula/tile/printed.h"

#include <algorithm>

#include "tegula/core/text.h"
#include "tegula/core/warning.h"

namespace tegula::tile {

PrintedWord printed_word(const Program& program, const Instruction& print) {
  return {.label = program.texts[static_cast<std::size_t>(print.attribute)].text,
          .kernel = program.name,
          .type = program[print.operands[0]].type,
          .where = print.where};
}

void show_printed(const PrintedWord& word, const std::array<std::int64_t, 3>& instance, std::span<const Text::Element> first) {
  const bool real = !word.type.pointer && is_float(word.type.dtype), bits = !word.type.pointer && word.type.dtype == DType::u64;
  std::string place, elements;
  for (const std::int64_t id : instance) place += (place.empty() ? "" : ", ") + std::to_string(id);
  for (const Text::Element& element : first.first(std::min<std::size_t>(first.size(), kMostPrinted))) {
    elements += elements.empty() ? "" : ", ";
    elements += real   ? number_text(element.real)
                : bits ? std::to_string(static_cast<std::uint64_t>(element.integer))
                       : std::to_string(element.integer);
  }
  if (numel(word.type.shape) > kMostPrinted) elements += ", …";
  show_text("device_print", word.label + " in program (" + place + ") of " + word.kernel + " at " + to_string(word.where) + ": " +
                                to_string(word.type) + " {" + elements + "}");
}

}  // namespace tegula::tile
