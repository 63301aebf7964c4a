#include "tegula/simt/printed.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <tuple>

#include "tegula/core/warning.h"

namespace tegula::simt {

PrintedWords printed_words(const tile::Program& program) {
  PrintedWords words;
  for (const tile::Instruction& self : program.instructions) {
    if (self.word != tile::Word::Print) continue;
    words.resize(program.texts.size());
    words[static_cast<std::size_t>(self.attribute)] = tile::printed_word(program, self);
  }
  return words;
}

void show_printed(const PrintedWords& words, std::span<const PrintedElement> elements, std::uint32_t lost) {
  using Instance = std::array<std::int64_t, 3>;
  struct Tile {
    Instance instance;
    std::int32_t word;
    std::vector<tile::Text::Element> elements;
  };
  std::vector<Tile> tiles;
  std::map<std::tuple<Instance, std::int32_t, std::int32_t>, int> times;  // how often an instance has printed an element
  std::map<std::tuple<Instance, std::int32_t, int>, std::size_t> known;
  for (const PrintedElement& one : elements) {
    const Instance instance{one.id[0], one.id[1], one.id[2]};
    const int time = times[{instance, one.word, one.index}]++;
    const auto [found, fresh] = known.try_emplace({instance, one.word, time}, tiles.size());
    if (fresh) tiles.push_back({instance, one.word, {}});
    std::vector<tile::Text::Element>& list = tiles[found->second].elements;
    const auto index = static_cast<std::size_t>(one.index);
    list.resize(std::max(list.size(), index + 1));
    list[index] = {std::bit_cast<double>(one.bits), one.bits};
  }
  std::ranges::stable_sort(tiles, {}, [](const Tile& tile) { return Instance{tile.instance[2], tile.instance[1], tile.instance[0]}; });
  for (const Tile& one : tiles) tile::show_printed(words[static_cast<std::size_t>(one.word)], one.instance, one.elements);
  if (lost > 0) show_text("device_print", std::to_string(lost) + " more elements, for which the buffer has no room");
}

void show_printed(const PrintedWords& words, PrintBuffer& buffer) {
  const std::uint32_t kept = std::min(buffer.count, buffer.room);
  show_printed(words, std::span(buffer.elements).first(kept), buffer.count - kept);
  buffer.count = 0;
}

}  // namespace tegula::simt
