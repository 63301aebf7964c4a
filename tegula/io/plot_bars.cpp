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

constexpr double kHalf = 0.36;  // half of a bar's height, in rows
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
  const auto place = [&](std::size_t row) {  // the y position of the row's middle, downward
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

namespace {

/// A coordinate system for columns that stand on 0.
std::string columns_script(const std::string& path, int width, int height, const std::string& title, double gap) {
  gnuplot::require_size(path, width, height);
  std::string text = gnuplot::terminal(gnuplot::format_of(path), width, height) +
                     "unset key\nset border 3 linecolor rgb '#555555'\nset tics nomirror out scale 0.6 textcolor rgb '#333333'\n"
                     "set grid ytics linecolor rgb '#E3E3E3' linetype 1 linewidth 0.8\nset style fill solid 0.9 border rgb 'white'\n"
                     "set boxwidth " +
                     number(1 - gap) + " relative\nset offsets graph 0, graph 0, graph 0.05, graph 0\n";
  if (!title.empty()) text += "set title " + literal(title) + " font 'sans,15'\n";
  return text;
}

}  // namespace

void plot(const std::string& path, const Histogram& histogram) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : histogram.values) {
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  }
  if (!(low <= high) || histogram.bins < 1 || histogram.bins > 10000) {
    gnuplot::complain(path, std::to_string(histogram.values.size()) + " values and " + std::to_string(histogram.bins) + " bins",
                      "a finite value, and 1 to 10000 bins", "");
  }
  if (low == high) low -= 0.5, high += 0.5;
  const double width = (high - low) / static_cast<double>(histogram.bins);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(histogram.bins));
  for (const double value : histogram.values) {
    if (!std::isfinite(value)) continue;
    const auto bin = static_cast<std::int64_t>((value - low) / width);
    ++counts[static_cast<std::size_t>(std::clamp<std::int64_t>(bin, 0, histogram.bins - 1))];
  }
  std::string text = "$data << END\n";
  for (std::size_t i = 0; i < counts.size(); ++i)
    text += number(low + (static_cast<double>(i) + 0.5) * width) + " " + std::to_string(counts[i]) + "\n";
  text += "END\n" + columns_script(path, histogram.width, histogram.height, histogram.title, 0) + "set yrange [0:*]\nset xrange [" +
          number(low - width / 2) + ":" + number(high + width / 2) + "]\nset ylabel 'count'\n";
  if (!histogram.x_label.empty()) text += "set xlabel " + literal(histogram.x_label) + "\n";
  gnuplot::draw(path, text + "plot $data using 1:2 with boxes fillcolor rgb '" + kColours[0] + "'\n");
}

void plot(const std::string& path, const BarChart& chart) {
  const std::size_t count = chart.names.size();
  const bool finite = std::ranges::all_of(chart.values, [](double v) { return std::isfinite(v); });
  if (count == 0 || chart.values.size() != count || !finite) {
    gnuplot::complain(path, std::to_string(count) + " names and " + std::to_string(chart.values.size()) + " values",
                      "equally many, at least one, the values finite", "");
  }
  std::string text = "$data << END\n", ticks;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    text += std::to_string(i) + " " + number(chart.values[i]) + "\n";
    ticks += (i ? ", " : "") + literal(chart.names[i]) + " " + std::to_string(i);
    longest = std::max(longest, chart.names[i].size());
  }
  const bool turned = static_cast<double>(longest) * 8 > (chart.width - 90.0) / static_cast<double>(count);
  const bool negative = std::ranges::any_of(chart.values, [](double v) { return v < 0; });
  text += "END\n" + columns_script(path, chart.width, chart.height, chart.title, 0.3) + "set xtics scale 0 " +
          (turned ? "rotate by -45 left " : "") + "(" + ticks + ")\nset xrange [-0.6:" + number(static_cast<double>(count) - 0.4) + "]\n" +
          (negative ? "set xzeroaxis linecolor rgb '#555555' linetype 1\n" : "set yrange [0:*]\n");
  if (!chart.y_label.empty()) text += "set ylabel " + literal(chart.y_label) + "\n";
  gnuplot::draw(path, text + "plot $data using 1:2 with boxes fillcolor rgb '" + kColours[0] + "'\n");
}

}  // namespace tegula::io
