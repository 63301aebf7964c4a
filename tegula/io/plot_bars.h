#pragma once
// Who did what from when to when, as a PNG or SVG picture, drawn by gnuplot.

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
  std::string title;
  std::string x_label;
  std::vector<std::string> rows;
  std::vector<std::string> kinds;  // at most six, each in a colour of its own
  std::vector<Bar> bars;
  int width = 1200;  // pixels; the height follows from the rows
  std::size_t group = 0;  // after so many rows there is a gap; 0: nowhere
};

/// Throws as plot does (io/plot.h), and for no bars, rows or kinds that are not there, more than six kinds, and bars that end before they begin.
void plot(const std::string& path, const Bars& bars);

}  // namespace tegula::io
