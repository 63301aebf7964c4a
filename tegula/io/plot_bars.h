#pragma once
// Bars as PNG or SVG pictures, drawn by gnuplot: who did what from when to when, how often values lie where, and a number for each name.

#include <cstdint>
#include <string>
#include <vector>

namespace tegula::io {

/// From `begin` to `end` in a row. A text that has no room within the bar is left out.
struct Bar {
  std::size_t row = 0, kind = 0;
  double begin = 0, end = 0;
  std::string text = {};
};

/// Rows of bars over one axis, the first row on top.
struct Bars {
  std::string title = {};
  std::string x_label = {};
  std::vector<std::string> rows = {};
  std::vector<std::string> kinds = {};  // at most six, each in a colour of its own
  std::vector<Bar> bars = {};
  int width = 1200;  // pixels; the height follows from the rows
  std::size_t group = 0;  // the number of rows between gaps; 0: no gap
};

/// Throws as plot does (io/plot.h), and for no bars, rows or kinds that are not there, more than six kinds, and bars that end before they begin.
void plot(const std::string& path, const Bars& bars);

/// The frequencies of values: `bins` columns of equal width between the least and the greatest. Values that are not finite are left out.
struct Histogram {
  std::string title = {};
  std::string x_label = {};
  std::vector<double> values = {};
  std::int64_t bins = 30;
  int width = 900, height = 500;  // pixels
};
/// Throws as plot does, and for no finite value and fewer than one or more than 10000 bins.
void plot(const std::string& path, const Histogram& histogram);

/// A number for each name, as columns from 0.
struct BarChart {
  std::string title = {};
  std::string y_label = {};
  std::vector<std::string> names = {};
  std::vector<double> values = {};
  int width = 900, height = 500;  // pixels
};
/// Throws as plot does, and for other numbers of names and values, or values that are not finite.
void plot(const std::string& path, const BarChart& chart);

}  // namespace tegula::io
