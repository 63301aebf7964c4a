#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tegula/io/gnuplot.h"
#include "tegula/io/plot.h"

namespace tegula::io {
namespace {

using gnuplot::literal;
using gnuplot::number;

/// The range of values that the shades represent.
struct Shades {
  double low = 0, high = 1;
  bool is_diverging() const { return low < 0 && high > 0; }
  /// True if the value's shade is dark, so that its digits must be light.
  bool is_dark(double value) const {
    if (is_diverging()) return std::abs(value) > 0.6 * std::max(-low, high);
    return (value - low) / (high - low) > 0.6;
  }
};

Shades shades_of(const std::string& path, const Heatmap& map) {
  const auto [least, most] = std::ranges::minmax(map.values);
  Shades shades{std::min(least, 0.0), most > 1 || most <= 0 ? most : 1};
  if (shades.low < 0 && shades.high > 0) shades.high = std::max(shades.high, -shades.low), shades.low = -shades.high;
  if (map.minimum) shades.low = *map.minimum;
  if (map.maximum) shades.high = *map.maximum;
  if (shades.low == shades.high && !map.minimum && !map.maximum) shades.high = shades.low + 1;  // all alike
  if (!(shades.low < shades.high) || !std::isfinite(shades.low) || !std::isfinite(shades.high))
    gnuplot::complain(path, "shades from " + number(shades.low) + " to " + number(shades.high), "a finite .minimum below a finite .maximum",
                      "");
  return shades;
}

/// The texts in the cells; none if the cells stay empty.
std::vector<std::string> texts_of(const std::string& path, const Heatmap& map) {
  if (!map.numbers.empty() && map.numbers.size() != map.values.size())
    gnuplot::complain(path, std::to_string(map.numbers.size()) + " numbers",
                      "one for each of the " + std::to_string(map.values.size()) + " values", "");
  if (map.decimals && (*map.decimals < 0 || *map.decimals > 9))
    gnuplot::complain(path, std::to_string(*map.decimals) + " decimals", "0 to 9", "");
  std::vector<std::string> texts = map.numbers;
  for (std::size_t i = 0; texts.size() < map.values.size() && map.decimals; ++i) {
    char text[512];
    std::snprintf(text, sizeof text, "%.*f", *map.decimals, map.values[i]);
    texts.emplace_back(text);
  }
  return texts;
}

std::string ticks(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) list += (i ? ", " : "") + literal(names[i]) + " " + std::to_string(i);
  return "(" + list + ")";
}

int longest_name(const std::vector<std::string>& names) {
  std::size_t most = 0;
  for (const auto& name : names) most = std::max(most, name.size());
  return static_cast<int>(std::min<std::size_t>(most, 40));
}

/// Blocks of "column row number", of the cells whose digits are dark or light.
std::string digits(const Heatmap& map, const std::vector<std::string>& texts, const Shades& shades, bool light) {
  std::string text;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (shades.is_dark(map.values[i]) != light) continue;
    text += std::to_string(i % map.columns.size()) + " " + std::to_string(i / map.columns.size()) + " " + gnuplot::quoted(texts[i]) + "\n";
  }
  return text;
}

}  // namespace

void plot(const std::string& path, const Heatmap& map) {
  constexpr std::size_t kMost = 200;
  const std::size_t rows = map.rows.size(), columns = map.columns.size();
  const bool finite = std::ranges::all_of(map.values, [](double v) { return std::isfinite(v); });
  if (rows == 0 || columns == 0 || rows > kMost || columns > kMost || map.values.size() != rows * columns || !finite) {
    gnuplot::complain(
        path, std::to_string(rows) + " rows, " + std::to_string(columns) + " columns and " + std::to_string(map.values.size()) + " values",
        "1 to 200 of each, and a finite value for each pair", "");
  }
  const Shades shades = shades_of(path, map);
  const std::vector<std::string> texts = texts_of(path, map);
  int cell = 30;  // pixels
  for (const std::string& text : texts) cell = std::max(cell, 9 * static_cast<int>(text.size()) + 10);
  constexpr int kLetter = 9;  // pixels
  const int left = kLetter * longest_name(map.rows) + 60, top = kLetter * longest_name(map.columns) * 4 / 5 + (map.title.empty() ? 50 : 75);
  const int width = std::max(left + 120 + cell * static_cast<int>(columns), 320);
  const int height = std::max(top + 30 + std::min(cell, 40) * static_cast<int>(rows), 240);
  std::string text = "$data << END\n";
  // gnuplot draws no image of a single row or column: it gets one more, beyond the ends of the axes.
  for (std::size_t r = 0; r < std::max<std::size_t>(rows, 2); ++r) {
    for (std::size_t c = 0; c < std::max<std::size_t>(columns, 2); ++c)
      text += (c ? " " : "") + number(map.values[std::min(r, rows - 1) * columns + std::min(c, columns - 1)]);
    text += "\n";
  }
  text += "END\n";
  std::string plots = "plot $data matrix with image";
  for (const bool light : {false, true}) {
    const std::string block = digits(map, texts, shades, light), name = light ? "$light" : "$dark";
    if (block.empty()) continue;
    text += name + " << END\n" + block + "END\n";
    plots += ", " + name + " using 1:2:3 with labels center font 'sans,11' textcolor rgb '" + (light ? "#FFFFFF" : "#222222") + "'";
  }
  const auto end = [](std::size_t count) { return number(static_cast<double>(count) - 0.5); };
  text += gnuplot::terminal(gnuplot::format_of(path), width, height) +
          "unset key\nset border linecolor rgb '#555555'\nset tics nomirror scale 0 textcolor rgb '#333333'\n"
          "set palette defined " +
          (shades.is_diverging() ? "(" + number(-std::max(-shades.low, shades.high)) + " '#B2182B', 0 '#FFFFFF', " +
                                       number(std::max(-shades.low, shades.high)) + " '#08306B')"
                                 : std::string("(0 '#FFFFFF', 0.5 '#6BAED6', 1 '#08306B')")) +
          "\nset cbrange [" + number(shades.low) + ":" + number(shades.high) + "]\nunset xtics\nset x2tics rotate by 55 left " +
          ticks(map.columns) + "\nset ytics " + ticks(map.rows) + "\nset x2range [-0.5:" + end(columns) +
          "]\nset xrange [-0.5:" + end(columns) + "]\nset yrange [" + end(rows) + ":-0.5]\n";
  if (!map.title.empty())
    text += "set label " + literal(map.title) + " at graph 0.5, screen " + number(1 - 14.0 / height) + " center font 'sans,14'\n";
  if (!map.row_label.empty()) text += "set ylabel " + literal(map.row_label) + "\n";
  // gnuplot leaves no room for the title above turned names.
  const int title = map.title.empty() ? 0 : 24;
  text += "set tmargin at screen " + number(1 - static_cast<double>(top) / height) + "\n";
  if (!map.column_label.empty())
    text += "set label " + literal(map.column_label) + " at graph 0.5, screen " + number(1 - (title + 14.0) / height) + " center\n";
  gnuplot::draw(path, text + plots + "\n");
}

}  // namespace tegula::io
