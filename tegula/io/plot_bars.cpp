#include "tegula/io/plot_bars.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tegula/io/gnuplot.h"

namespace tegula::io {
namespace {

using gnuplot::kColours;
using gnuplot::literal;
using gnuplot::number;

constexpr double kHalf = 0.36;  // of a bar's height, in rows
constexpr double kGap = 0.5;    // between groups, in rows

void check_bars(const std::string& path, const Bars& bars) {
  const bool fits = std::ranges::all_of(bars.bars, [&](const Bar& bar) {
    return bar.row < bars.rows.size() && bar.kind < bars.kinds.size() && std::isfinite(bar.begin) && std::isfinite(bar.end) &&
           bar.end >= bar.begin;
  });
  if (bars.bars.empty() || bars.kinds.size() > std::size(kColours) || !fits) {
    gnuplot::complain(path,
                      std::to_string(bars.bars.size()) + " bars in " + std::to_string(bars.rows.size()) + " rows, of " +
                          std::to_string(bars.kinds.size()) + " kinds",
                      "at least one, of rows and at most six kinds that are there, none that ends before it begins", "");
  }
}

}  // namespace

void plot(const std::string& path, const Bars& bars) {
  check_bars(path, bars);
  const auto place = [&](std::size_t row) {  // of the row's middle, downward
    return static_cast<double>(row) + (bars.group > 0 ? kGap * static_cast<double>(row / bars.group) : 0);
  };
  const int height = 140 + static_cast<int>(34 * (place(bars.rows.size() - 1) + 1));
  gnuplot::require_size(path, bars.width, height);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::size_t longest = 0;
  for (const Bar& bar : bars.bars) low = std::min(low, bar.begin), high = std::max(high, bar.end);
  for (const std::string& row : bars.rows) longest = std::max(longest, row.size());
  const double range = high > low ? high - low : 1, letters = (bars.width - 60.0 - 8 * static_cast<double>(longest)) / 7.5;

  std::string text, plots;
  for (std::size_t kind = 0; kind < bars.kinds.size(); ++kind) {
    text += "$kind" + std::to_string(kind) + " << END\n";
    bool any = false;
    for (const Bar& bar : bars.bars) {
      if (bar.kind != kind) continue;
      any = true;
      const double y = place(bar.row);
      text += number((bar.begin + bar.end) / 2) + " " + number(y) + " " + number(bar.begin) + " " + number(bar.end) + " " +
              number(y - kHalf) + " " + number(y + kHalf) + "\n";
    }
    if (!any) text += "NaN NaN NaN NaN NaN NaN\n";  // the legend has it all the same
    text += "END\n";
    plots += (kind ? ", " : "plot ") + std::string("$kind") + std::to_string(kind) + " using 1:2:3:4:5:6 with boxxyerror fillcolor rgb '" +
             kColours[kind] + "' title " + literal(bars.kinds[kind]);
  }
  std::string labels;
  for (const Bar& bar : bars.bars) {
    if (bar.text.empty() || (bar.end - bar.begin) / range * letters < static_cast<double>(bar.text.size())) continue;
    labels += number((bar.begin + bar.end) / 2) + " " + number(place(bar.row)) + " " + gnuplot::quoted(bar.text) + "\n";
  }
  if (!labels.empty()) {
    text += "$texts << END\n" + labels + "END\n";
    plots += ", $texts using 1:2:3 with labels center font 'sans,10' textcolor rgb 'white' notitle";
  }
  std::string ticks;
  for (std::size_t row = 0; row < bars.rows.size(); ++row) ticks += (row ? ", " : "") + literal(bars.rows[row]) + " " + number(place(row));
  text += gnuplot::terminal(gnuplot::format_of(path), bars.width, height) +
          "set datafile missing 'NaN'\nset border 1 linecolor rgb '#555555'\nset tics nomirror out scale 0.6 textcolor rgb '#333333'\n"
          "set grid xtics linecolor rgb '#E3E3E3' linetype 1 linewidth 0.8\nset grid noytics\n"
          "set style fill solid 1 border rgb 'white'\n"
          "set key below center horizontal Left reverse samplen 1.5 spacing 1.2 width 1 textcolor rgb '#333333'\n"
          "set ytics scale 0 (" +
          ticks + ")\nset xrange [" + number(low - 0.005 * range) + ":" + number(high + 0.005 * range) + "]\nset yrange [" +
          number(place(bars.rows.size() - 1) + 0.6) + ":-0.6]\n";
  if (!bars.title.empty()) text += "set title " + literal(bars.title) + " font 'sans,15'\n";
  if (!bars.x_label.empty()) text += "set xlabel " + literal(bars.x_label) + "\n";
  gnuplot::draw(path, text + plots + "\n");
}

}  // namespace tegula::io
