#include "pictures.h"

#include <algorithm>

namespace tegula::app {
namespace {

constexpr int kGap = 3;  // characters between pictures

float pixel(const Picture& p, int y, int x) {
  return y < p.height ? p.pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(p.width) + static_cast<std::size_t>(x)] : 0;
}

/// Two pixels, one above the other, as one character.
std::string cell(float upper, float lower, Ink ink) {
  if (ink == Ink::Ascii) {
    constexpr char kShades[] = " .:-=+*#%@";
    const float mean = std::clamp((upper + lower) / 2, 0.0f, 1.0f);
    return {kShades[static_cast<int>(mean * 9.0f + 0.5f)]};
  }
  constexpr float kLit = 0.4f;
  if (upper > kLit && lower > kLit) return "█";
  if (upper > kLit) return "▀";
  return lower > kLit ? "▄" : " ";
}

std::string pad(const std::string& text, int width) {
  return text + std::string(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
}

void trim_end(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

}  // namespace

int display_width(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string draw(std::span<const Picture> pictures, int columns, Ink ink) {
  std::string text;
  for (std::size_t begin = 0; begin < pictures.size();) {
    std::size_t end = begin;
    int used = 0, height = 0;
    const auto wide = [](const Picture& p) { return std::max(p.width, display_width(p.caption)); };
    while (end < pictures.size() && (end == begin || used + wide(pictures[end]) <= columns)) {
      used += wide(pictures[end]) + kGap;
      height = std::max(height, pictures[end++].height);
    }
    const auto row = pictures.subspan(begin, end - begin);
    std::string line;
    for (const Picture& p : row) line += pad(p.caption, wide(p) + kGap);
    trim_end(line);
    text += line + "\n";
    for (int y = 0; y < height; y += 2) {
      line.clear();
      for (const Picture& p : row) {
        std::string part;
        for (int x = 0; x < p.width; ++x) part += cell(pixel(p, y, x), pixel(p, y + 1, x), ink);
        line += pad(part, wide(p) + kGap);
      }
      trim_end(line);
      text += line + "\n";
    }
    begin = end;
  }
  return text;
}

}  // namespace tegula::app
