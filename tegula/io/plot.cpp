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
    complain(path, std::to_string(figure.panels.size()) + " panels", "1 to " + std::to_string(kMaxPanels),
             figure.panels.empty() ? "give the figure a Panel with a Series" : "draw several figures");
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

double on_axis(double value, Scale scale) { return scale == Scale::Linear ? value : std::log(value); }

/// The part of a panel's width and height that the legend may take in a corner, in front of which no curve may lie.
struct LegendBox {
  double width, height;
};
LegendBox legend_box(const Panel& panel, const Figure& figure) {
  constexpr double kLetter = 8, kSample = 45, kLine = 24, kMargin = 12, kAxes = 110;  // pixels
  std::size_t longest = 0;
  for (const auto& series : panel.series) longest = std::max(longest, series.name.size());
  const double width = figure.width / static_cast<double>(figure.panels.size()) - kAxes, height = figure.height - kAxes;
  return {(kLetter * static_cast<double>(longest) + kSample + kMargin) / std::max(width, 1.0),
          (kLine * static_cast<double>(panel.series.size()) + kMargin) / std::max(height, 1.0)};
}

/// The legend lies in a corner that no curve comes to, where curves rise at the lower right first, else above the panel.
std::string legend_place(const Panel& panel, const Figure& figure) {
  const Scale x_scale = figure.x_names.empty() ? figure.x_scale : Scale::Linear;
  double left = INFINITY, right = -INFINITY, low = panel.from_zero ? 0 : INFINITY, high = -INFINITY, rise = 0;
  for (const auto& series : panel.series) {
    double first = NAN, last = NAN;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!shown(series.x[i], x_scale) || !shown(series.y[i], panel.y_scale)) continue;
      const double x = on_axis(series.x[i], x_scale), y = on_axis(series.y[i], panel.y_scale);
      left = std::min(left, x), right = std::max(right, x), low = std::min(low, y), high = std::max(high, y);
      if (std::isnan(first)) first = y;
      last = y;
    }
    if (!std::isnan(first)) rise += last - first;
  }
  const LegendBox box = legend_box(panel, figure);
  const double width = right > left ? right - left : 1, height = high > low ? high - low : 1;
  const auto is_free = [&](bool at_right, bool at_top) {
    for (const auto& series : panel.series) {
      double x0 = NAN, y0 = NAN;
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        const bool is_point = shown(series.x[i], x_scale) && shown(series.y[i], panel.y_scale);
        const double x = is_point ? (on_axis(series.x[i], x_scale) - left) / width : NAN;
        const double y = is_point ? (on_axis(series.y[i], panel.y_scale) - low) / height : NAN;
        constexpr int kParts = 16;  // pieces of the line between two points
        for (int part = std::isnan(x0) ? kParts : 0; part <= kParts && is_point; ++part) {
          const double share = static_cast<double>(part) / kParts;
          const double px = share == 1 ? x : x0 + share * (x - x0), py = share == 1 ? y : y0 + share * (y - y0);
          if ((at_right ? px > 1 - box.width : px < box.width) && (at_top ? py > 1 - box.height : py < box.height)) return false;
        }
        x0 = x, y0 = y;
      }
    }
    return true;
  };
  const bool at_top = rise <= 0;
  for (const auto& [right_side, top] : {std::pair(true, at_top), {true, !at_top}, {false, !at_top}, {false, at_top}}) {
    if (is_free(right_side, top))
      return std::string("inside ") + (top ? "top" : "bottom") + (right_side ? " right" : " left") + " vertical";
  }
  return "tmargin center horizontal";
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

/// Three to eight ticks a round step apart, also on a logarithmic axis: for a range that holds no two of its usual ones.
std::string even_ticks(double from, double to) {
  constexpr double kFewest = 3;
  double power = std::pow(10, std::floor(std::log10(to - from))), parts = 1;  // a tick is i * power / parts, as a decimal number is written
  for (const double divided : {1, 2, 5, 10}) {
    parts = divided;
    if (std::floor(to * parts / power) - std::ceil(from * parts / power) + 1 >= kFewest) break;
  }
  std::string ticks;
  for (double i = std::ceil(from * parts / power); i * power / parts <= to; ++i) {
    const double tick = power < 1 ? i / (parts * std::round(1 / power)) : i * power / parts;
    ticks += (ticks.empty() ? "'" : ", '") + tick_label(tick) + "' " + number(tick);
  }
  return ticks;
}

/// Ticks of a logarithmic axis, written out: an interval would be counted from the end of the range. Within two powers of ten they would be
/// one, or none, so that 2 and 5 are marked too.
std::string logarithmic_ticks(double from, double to, Scale scale) {
  const double base = scale == Scale::Log2 ? 2 : 10;
  const bool dense = scale == Scale::Log10 && to / from < 100;
  std::string ticks;
  int count = 0;
  for (double power = std::pow(base, std::floor(std::log(from) / std::log(base) + 1e-9)); power <= to; power *= base) {
    for (const double factor : {1, 2, 5}) {
      const double tick = factor * power;
      if (tick >= from && tick <= to && (factor == 1 || dense)) ticks += (count++ ? ", '" : "'") + tick_label(tick) + "' " + number(tick);
    }
  }
  if (count < 2) ticks = even_ticks(from, to);
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
  const double two_ticks = panel.y_scale == Scale::Log2 ? 4 : 100;  // a range of this factor contains two powers
  if (panel.y_scale == Scale::Linear || !(high > 0) || high / low >= two_ticks)
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
  // Markers make single epochs visible, but thousands of steps a blot. Points with names instead of numbers are not joined by lines.
  const std::size_t points = longest(figure);
  const std::string marks = points <= 5 ? "pointtype 7 pointsize 1.4" : "pointtype 7 pointsize 0.7";
  const std::string style = !figure.x_names.empty() ? "points pointtype 7 pointsize 1.6"
                            : points <= 60          ? "linespoints linewidth 2 " + marks
                                                    : "lines linewidth 2";
  int block = 0;
  for (const auto& panel : figure.panels) {
    text += "set xlabel " + literal(figure.x_label) + "\nset ylabel " + literal(panel.y_label) + "\nset key " +
            legend_place(panel, figure) + "\n" + logarithmic("x", figure.x_scale) + logarithmic("y", panel.y_scale) +
            x_axis(panel, figure) + y_axis(panel) +
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

/// Returns true if a value is finite; accuracy has none where there are no classes.
bool is_measured(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double v) { return std::isfinite(v); });
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

void plot(const std::string& path, const LearningCurve& curve) {
  Figure figure{.title = curve.title, .x_label = curve.x_label, .panels = {}};
  const auto add = [&](const char* label, const std::vector<double>& train, const std::vector<double>& test, double factor) {
    Panel panel{label, {}};
    if (factor == kPercent) panel.to_most = kPercent;
    if (is_measured(train)) panel.series.push_back(numbered("train", curve.first_x, train, factor));
    if (is_measured(test)) panel.series.push_back(numbered("test", curve.first_x, test, factor));
    if (!panel.series.empty()) figure.panels.push_back(std::move(panel));
  };
  add("loss", curve.train_loss, curve.test_loss, 1);
  add("accuracy in %", curve.train_accuracy, curve.test_accuracy, kPercent);
  // A training that diverged is told as such.
  if (figure.panels.empty() && !curve.train_loss.empty())
    figure.panels.push_back({"loss", {numbered("train", curve.first_x, curve.train_loss, 1)}});
  plot(path, figure);
}

}  // namespace tegula::io
