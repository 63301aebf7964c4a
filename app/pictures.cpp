#include "app/pictures.h"

#include <algorithm>
#include <cmath>

#include "app/progress.h"

namespace tegula::app {
namespace {

constexpr int kGap = 2;       // characters between pictures
constexpr float kLit = 0.4f;  // brighter than this is ink

/// The part of the pictures that has ink in at least one of them.
struct Frame {
  int top = 1 << 30, left = 1 << 30, bottom = 0, right = 0;
};

float pixel(const Picture& p, int y, int x) {
  return y < p.height && x < p.width
             ? p.pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(p.width) + static_cast<std::size_t>(x)]
             : 0;
}

Frame frame_of(std::span<const Picture> pictures) {
  Frame frame;
  for (const Picture& p : pictures) {
    for (int y = 0; y < p.height; ++y) {
      for (int x = 0; x < p.width; ++x) {
        if (pixel(p, y, x) < kLit) continue;
        frame = {std::min(frame.top, y), std::min(frame.left, x), std::max(frame.bottom, y + 1), std::max(frame.right, x + 1)};
      }
    }
  }
  if (frame.top > frame.bottom) frame = {0, 0, 1, 1};
  return frame;
}

/// Two pixels, one above the other, as one character.
std::string cell(float upper, float lower, Ink ink) {
  if (ink == Ink::Ascii) {
    constexpr char kShades[] = " .:-=+*#%@";
    const float mean = std::clamp((upper + lower) / 2, 0.0f, 1.0f);
    return {kShades[std::lround(mean * 9.0f)]};
  }
  if (upper > kLit && lower > kLit) return "█";
  if (upper > kLit) return "▀";
  return lower > kLit ? "▄" : " ";
}

std::string pad(const std::string& text, int width) {
  return text + std::string(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
}

}  // namespace

std::string draw(std::span<const Picture> pictures, int columns, Ink ink) {
  const Frame frame = frame_of(pictures);
  int width = frame.right - frame.left;  // width of every picture with its caption
  for (const Picture& p : pictures) width = std::max(width, display_width(p.caption));
  const auto per_row = static_cast<std::size_t>(std::max(1, (columns + kGap) / (width + kGap)));
  std::string text;
  for (std::size_t begin = 0; begin < pictures.size(); begin += per_row) {
    const auto row = pictures.subspan(begin, std::min(per_row, pictures.size() - begin));
    const auto add_line = [&](const auto& part_of) {
      std::string line;
      for (const Picture& p : row) line += pad(part_of(p), width + kGap);
      text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
    };
    if (begin > 0) text += "\n";
    add_line([](const Picture& p) { return p.caption; });
    for (int y = frame.top; y < frame.bottom; y += 2) {
      add_line([&](const Picture& p) {
        std::string part;
        for (int x = frame.left; x < frame.right; ++x) part += cell(pixel(p, y, x), y + 1 < frame.bottom ? pixel(p, y + 1, x) : 0, ink);
        return part;
      });
    }
  }
  return text;
}

}  // namespace tegula::app
