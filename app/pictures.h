#pragma once
// Small pictures in the terminal.

#include <span>
#include <string>
#include <vector>

namespace tegula::app {

enum class Ink { HalfBlocks, Ascii };

struct Picture {
  std::span<const float> pixels;  // (height, width) in [0, 1]
  int height = 0, width = 0;
  std::string caption;
};

/// Text of the pictures side by side, as many in a row as fit into `columns`, each under its caption. Borders without ink in any of them
/// are cut off. One character is one pixel wide and two high.
std::string draw(std::span<const Picture> pictures, int columns, Ink ink);

}  // namespace tegula::app
