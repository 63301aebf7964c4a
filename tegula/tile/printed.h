#pragma once
// What device_print shows of a tile, wherever the kernel runs.

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "tegula/tile/ir.h"

namespace tegula::tile {

/// Elements of a tile that are shown; the others are dots.
inline constexpr std::int64_t kMostPrinted = 16;

struct PrintedWord {
  std::string label, kernel;
  Type type;
  Line where{};
};
/// What a Print of a program shows.
PrintedWord printed_word(const Program& program, const Instruction& print);
/// Shows "x in program (1, 0, 0) of add at add.cpp:12: f32[4] {1, 2, 3, 4}" as "device_print". `first`: the elements, or kMostPrinted of them.
void show_printed(const PrintedWord& word, const std::array<std::int64_t, 3>& instance, std::span<const Text::Element> first);

}  // namespace tegula::tile
