#include "tegula/io/plot.h"

#include <algorithm>
#include <cmath>

#include "tegula/io/file.h"
#include "tegula/io/gnuplot.h"

namespace tegula::io {
namespace {

constexpr std::size_t kMaxPanels = 4;
constexpr double kPercent = 100;

using gnuplot::complain;
using gnuplot::draw;
using gnuplot::Format;
using gnuplot::format_of;
using gnuplot::kColours;
using gnuplot::literal;
using gnuplot::number;
using gnuplot::quoted;
using gnuplot::require_size;
using gnuplot::terminal;

bool shown(double value, Scale scale) { return std::isfinite(value) && (value > 0 || scale == Scale::Linear); }

void check(const std::string& path, const Figure& figure) {
  if (figure.panels.empty() || figure.panels.size() > kMaxPanels) {
    complain(path, std::to_string(figure.panels.size()) + " panels", "1 to " + std::to_string(kMaxPanels), "draw several figures");
  }
  require_size(path, figure.width, figure.height);
  for (const auto& panel : figure.panels) {
    bool any = false;
    for (const auto& series : panel.series) {
      if (series.x.size() != series.y.size()) {
        complain(path,
                 "series " + literal(series.name) + " with " + std::to_string(series.x.size()) + " x and " +
                     std::to_string(series.y.size()) + " y",
                 "equally many", "");
      }
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        any |= shown(series.x[i], figure.x_names.empty() ? figure.x_scale : Scale::Linear) && shown(series.y[i], panel.y_scale);
      }
    }
    if (!any)
      complain(path, "panel " + literal(panel.y_label) + " without a finite point", "at least one",
               "plot after the first epoch; NaN everywhere means that training diverged");
  }
}

/// The values in blocks $data0, $data1 …, one per series.
std::string data_blocks(const Figure& figure) {
  std::string text;
  int block = 0;
  for (const auto& panel : figure.panels) {
    for (const auto& series : panel.series) {
      text += "$data" + std::to_string(block++) + " << END\n";
      for (std::size_t i = 0; i < series.x.size(); ++i) text += number(series.x[i]) + " " + number(series.y[i]) + "\n";
      text += "END\n";
    }
  }
  return text;
}

/// Where the legend covers least: curves that fall leave the upper right free, curves that rise the lower right.
const char* legend_place(const Panel& panel) {
  double rise = 0;
  for (const auto& series : panel.series) {
    double first = NAN, last = NAN;
    for (double y : series.y) {
      if (!std::isfinite(y)) continue;
      if (std::isnan(first)) first = y;
      last = y;
    }
    if (!std::isnan(first)) rise += last - first;
  }
  if (panel.series.size() > 4) return "outside right top";
  return rise > 0 ? "bottom right" : "top right";
}

std::size_t longest(const Figure& figure) {
  std::size_t points = 0;
  for (const auto& panel : figure.panels) {
    for (const auto& series : panel.series) points = std::max(points, series.x.size());
  }
  return points;
}

std::string logarithmic(const char* axis, Scale scale) {
  if (scale == Scale::Linear) return std::string("unset logscale ") + axis + "\n";
  return std::string("set logscale ") + axis + (scale == Scale::Log2 ? " 2\n" : " 10\n");
}

/// "64", "4096", "1 M".
std::string tick_label(double value) {
  constexpr double kThousand = 1e3, kMillion = 1e6, kBillion = 1e9;
  if (value < 10 * kThousand) return number(value);
  if (std::fmod(value, kThousand) != 0) return number(value);
  if (value >= kBillion) return number(value / kBillion) + " G";
  return value >= kMillion ? number(value / kMillion) + " M" : number(value / kThousand) + " k";
}

/// Ticks of a logarithmic axis, written out: an interval would be counted from the end of the range. Within two powers of ten they would be
/// one, or none, so that 2 and 5 are marked too.
std::string logarithmic_ticks(double from, double to, Scale scale) {
  const double base = scale == Scale::Log2 ? 2 : 10;
  const bool dense = scale == Scale::Log10 && to / from < 100;
  std::string ticks;
  for (double power = std::pow(base, std::floor(std::log(from) / std::log(base) + 1e-9)); power <= to; power *= base) {
    for (const double factor : {1, 2, 5}) {
      const double tick = factor * power;
      if (tick >= from && tick <= to && (factor == 1 || dense))
        ticks += (ticks.empty() ? "'" : ", '") + tick_label(tick) + "' " + number(tick);
    }
  }
  return ticks.empty() ? "autofreq" : "(" + ticks + ")";
}

/// gnuplot's own choice would round the x axis outward to far before the first and behind the last point, and put ticks at half epochs.
std::string x_axis(const Panel& panel, const Figure& figure) {
  double low = INFINITY, high = -INFINITY;
  for (const auto& series : panel.series) {
    for (double x : series.x) {
      if (shown(x, figure.x_scale)) low = std::min(low, x), high = std::max(high, x);
    }
  }
  if (!figure.x_names.empty()) {
    std::string ticks;
    for (std::size_t i = 0; i < figure.x_names.size(); ++i) ticks += (i ? ", " : "") + literal(figure.x_names[i]) + " " + std::to_string(i);
    return "set xrange [-0.5:" + number(static_cast<double>(figure.x_names.size()) - 0.5) + "]\nset xtics (" + ticks + ")\n";
  }
  if (figure.x_scale != Scale::Linear) {
    const double base = figure.x_scale == Scale::Log2 ? 2 : 10, factor = high > low ? std::pow(high / low, 0.03) : base;
    return "set xrange [" + number(low / factor) + ":" + number(high * factor) + "]\nset xtics " +
           logarithmic_ticks(low / factor, high * factor, figure.x_scale) + "\n";
  }
  const double margin = high > low ? 0.03 * (high - low) : 0.5;
  const bool few = high - low <= 12;
  return "set xrange [" + number(low - margin) + ":" + number(high + margin) + "]\nset xtics " + (few ? "1" : "autofreq") + "\n";
}

std::string y_axis(const Panel& panel) {
  double low = INFINITY, high = 0;
  for (const auto& series : panel.series) {
    for (double y : series.y) {
      if (shown(y, panel.y_scale)) low = std::min(low, y), high = std::max(high, y);
    }
  }
  if (panel.y_scale != Scale::Log10 || !(high > 0) || high / low >= 100)
    return "set yrange [" + std::string(panel.from_zero ? "0" : "*") + ":*" +
           (std::isfinite(panel.to_most) ? "<" + number(panel.to_most) : "") + "]\nset ytics autofreq\n";
  const double factor = high > low ? std::pow(high / low, 0.08) : 2;
  return "set yrange [" + number(low / factor) + ":" + number(high * factor) + "]\nset ytics " +
         logarithmic_ticks(low / factor, high * factor, panel.y_scale) + "\n";
}

std::string script(const Figure& figure, Format format) {
  std::string text = data_blocks(figure);
  text += terminal(format, figure.width, figure.height) +
          "set datafile missing 'NaN'\n"
          "set border 3 linecolor rgb '#555555'\n"
          "set tics nomirror out scale 0.6 textcolor rgb '#333333'\n"
          "set grid linecolor rgb '#E3E3E3' linetype 1 linewidth 0.8\n"
          "set key noautotitle samplen 2 spacing 1.2 opaque fillcolor rgb 'white' textcolor rgb '#333333'\n";
  text += "set multiplot layout 1," + std::to_string(figure.panels.size());
  if (!figure.title.empty()) text += " title " + literal(figure.title) + " font 'sans,15'";
  text += "\n";
  // Markers make single epochs visible, but thousands of steps a blot. What has names instead of numbers has nothing between them.
  const std::size_t points = longest(figure);
  const std::string marks = points <= 5 ? "pointtype 7 pointsize 1.4" : "pointtype 7 pointsize 0.7";
  const std::string style = !figure.x_names.empty() ? "points pointtype 7 pointsize 1.6"
                            : points <= 60          ? "linespoints linewidth 2 " + marks
                                                    : "lines linewidth 2";
  int block = 0;
  for (const auto& panel : figure.panels) {
    text += "set xlabel " + literal(figure.x_label) + "\nset ylabel " + literal(panel.y_label) + "\nset key " + legend_place(panel) + "\n" +
            logarithmic("x", figure.x_scale) + logarithmic("y", panel.y_scale) + x_axis(panel, figure) + y_axis(panel) +
            // few points would lie in the corners
            (points <= 12 && !panel.from_zero ? "set offsets graph 0, graph 0, graph 0.06, graph 0.06\n" : "unset offsets\n") + "plot ";
    std::size_t index = 0;
    for (const auto& series : panel.series) {
      text += (index ? ", " : "") + std::string("$data") + std::to_string(block++) + " using 1:2 with " + style + " linecolor rgb '" +
              kColours[index % std::size(kColours)] + "' title " + literal(series.name);
      ++index;
    }
    text += "\n";
  }
  return text + "unset multiplot\n";
}

Series numbered(const std::string& name, double first_x, const std::vector<double>& values, double factor) {
  Series series{name, {}, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    series.x.push_back(first_x + static_cast<double>(i));
    series.y.push_back(factor * values[i]);
  }
  return series;
}

}  // namespace

void require_picture(const std::string& path) {
  static_cast<void>(format_of(path));
  require_writable(path, "plot");
}

void plot(const std::string& path, const Figure& figure) {
  check(path, figure);
  draw(path, script(figure, format_of(path)));
}

void plot(const std::string& path, const Scatter& scatter) {
  const std::size_t count = scatter.x.size();
  const bool finite = std::all_of(scatter.x.begin(), scatter.x.end(), [](double v) { return std::isfinite(v); }) &&
                      std::all_of(scatter.y.begin(), scatter.y.end(), [](double v) { return std::isfinite(v); });
  if (count == 0 || scatter.y.size() != count || scatter.labels.size() != count || !finite) {
    complain(
        path,
        std::to_string(count) + " x, " + std::to_string(scatter.y.size()) + " y and " + std::to_string(scatter.labels.size()) + " labels",
        "equally many finite ones, at least one", "");
  }
  require_size(path, scatter.width, scatter.height);
  std::string text = "$data << END\n";
  for (std::size_t i = 0; i < count; ++i)
    text += number(scatter.x[i]) + " " + number(scatter.y[i]) + " " + quoted(scatter.labels[i]) + "\n";
  text += "END\n" + terminal(format_of(path), scatter.width, scatter.height) +
          "unset key\nunset border\nunset tics\nset offsets graph 0.02, graph 0.08, graph 0.02, graph 0.02\n";
  if (!scatter.title.empty()) text += "set title " + literal(scatter.title) + " font 'sans,15'\n";
  text += std::string("plot $data using 1:2 with points pointtype 7 pointsize 0.5 linecolor rgb '") + kColours[1] +
          "', $data using 1:2:3 with labels left offset 0.4,0.2 font 'sans,9' textcolor rgb '#333333'\n";
  draw(path, text);
}

void plot(const std::string& path, const Heatmap& map) {
  constexpr std::size_t kMost = 200;
  const std::size_t rows = map.rows.size(), columns = map.columns.size();
  const bool finite = std::ranges::all_of(map.values, [](double v) { return std::isfinite(v); });
  if (rows == 0 || columns == 0 || rows > kMost || columns > kMost || map.values.size() != rows * columns || !finite) {
    complain(path,
             std::to_string(rows) + " rows, " + std::to_string(columns) + " columns and " + std::to_string(map.values.size()) + " values",
             "1 to 200 of each, and a finite value for each pair", "");
  }
  const auto longest_name = [](const std::vector<std::string>& names) {
    std::size_t most = 0;
    for (const auto& name : names) most = std::max(most, name.size());
    return static_cast<int>(std::min<std::size_t>(most, 40));
  };
  constexpr int kCell = 30, kLetter = 9;  // pixels
  const int left = kLetter * longest_name(map.rows) + 60, top = kLetter * longest_name(map.columns) * 4 / 5 + (map.title.empty() ? 50 : 75);
  const int width = left + 120 + kCell * static_cast<int>(columns), height = top + 30 + kCell * static_cast<int>(rows);
  std::string text = "$data << END\n";
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) text += (c ? " " : "") + number(map.values[r * columns + c]);
    text += "\n";
  }
  const auto ticks = [](const std::vector<std::string>& names) {
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i) list += (i ? ", " : "") + literal(names[i]) + " " + std::to_string(i);
    return "(" + list + ")";
  };
  const auto end = [](std::size_t count) { return number(static_cast<double>(count) - 0.5); };
  text += "END\n" + terminal(format_of(path), std::max(width, 320), std::max(height, 240)) +
          "unset key\nset border linecolor rgb '#555555'\nset tics nomirror scale 0 textcolor rgb '#333333'\n"
          "set palette defined (0 '#FFFFFF', 0.5 '#6BAED6', 1 '#08306B')\nset cbrange [0:1]\nunset xtics\n"
          "set x2tics rotate by 55 left " +
          ticks(map.columns) + "\nset ytics " + ticks(map.rows) + "\nset x2range [-0.5:" + end(columns) +
          "]\nset xrange [-0.5:" + end(columns) + "]\nset yrange [" + end(rows) + ":-0.5]\n";
  if (!map.title.empty())
    text += "set label " + literal(map.title) + " at graph 0.5, screen " + number(1 - 14.0 / std::max(height, 240)) +
            " center font 'sans,14'\n";
  if (!map.row_label.empty()) text += "set ylabel " + literal(map.row_label) + "\n";
  // gnuplot leaves no room for what stands above turned names.
  const int title = map.title.empty() ? 0 : 24;
  text += "set tmargin at screen " + number(1 - static_cast<double>(top) / std::max(height, 240)) + "\n";
  if (!map.column_label.empty())
    text += "set label " + literal(map.column_label) + " at graph 0.5, screen " + number(1 - (title + 14.0) / std::max(height, 240)) +
            " center\n";
  draw(path, text + "plot $data matrix with image\n");
}

void plot(const std::string& path, const LearningCurve& curve) {
  Figure figure{.title = curve.title, .x_label = curve.x_label, .panels = {}};
  const auto add = [&](const char* label, const std::vector<double>& train, const std::vector<double>& test, double factor) {
    Panel panel{label, {}};
    if (factor == kPercent) panel.to_most = kPercent;
    if (!train.empty()) panel.series.push_back(numbered("train", curve.first_x, train, factor));
    if (!test.empty()) panel.series.push_back(numbered("test", curve.first_x, test, factor));
    if (!panel.series.empty()) figure.panels.push_back(std::move(panel));
  };
  add("loss", curve.train_loss, curve.test_loss, 1);
  add("accuracy in %", curve.train_accuracy, curve.test_accuracy, kPercent);
  plot(path, figure);
}

}  // namespace tegula::io
