#pragma once
// Line plots as PNG or SVG pictures, drawn by gnuplot.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tegula::io {

/// One curve; x and y have the same length. A y that is not finite leaves a gap.
struct Series {
  std::string name = {};
  std::vector<double> x = {}, y = {};
};

/// Ticks of Log2 are powers of two; points that are not positive have no place on a logarithmic axis and are left out.
enum class Scale : std::uint8_t { Linear, Log2, Log10 };

/// One coordinate system with its curves.
struct Panel {
  std::string y_label = {};
  std::vector<Series> series = {};
  Scale y_scale = Scale::Linear;
  bool from_zero = false;  // a linear y axis begins at 0
  double to_most = std::numeric_limits<double>::infinity();  // upper bound for the end of a linear y axis
};

/// One to four panels side by side over the same x quantity.
struct Figure {
  std::string title = {};
  std::string x_label = {};
  std::vector<Panel> panels = {};  // each with its legend in a corner that no curve comes to, or above
  int width = 900, height = 500;  // pixels
  Scale x_scale = Scale::Linear;
  std::vector<std::string> x_names = {};  // instead of numbers: the labels at x = 0, 1, …
};

/// Throws the Error that plot(path, …) would throw for this path: another ending than .png or .svg, a folder that cannot be written.
void require_picture(const std::string& path);

/// Draws the figure with the program gnuplot and writes it atomically, as SVG when the path ends in .svg, as PNG when it ends in .png or has no ending. Texts are taken literally. Throws Error when gnuplot
/// is not installed or fails, for no panel or more than four, a panel without a finite point, and x and y of different lengths;
/// whether that ends a run is the caller's choice.
void plot(const std::string& path, const Figure& figure);

/// The curves of a training run: values per epoch (or step) from `first_x` on in steps of 1. Curves that are empty, or NaN everywhere, are left out.
struct LearningCurve {
  std::string title = {};
  std::string x_label = "epoch";
  double first_x = 1;
  std::vector<double> train_loss = {}, test_loss = {};
  std::vector<double> train_accuracy = {}, test_accuracy = {};  // 0 to 1; shown in percent
};

/// Loss at the left, accuracy at the right. Throws as plot does.
void plot(const std::string& path, const LearningCurve& curve);

/// Numbers as shades, row by row: which target (a row) looks at which source (a column), a confusion matrix.
struct Heatmap {
  std::string title = {};
  std::vector<std::string> rows = {}, columns = {};  // their names, at the left and on top
  std::vector<double> values = {};  // rows.size() times columns.size()
  std::string row_label = {}, column_label = {};
  /// The values of the lightest and the darkest shade; values beyond them get those shades. Not given: 0 to 1, extended to the values' range. Negative values
  /// have another colour, and white is 0.
  std::optional<double> minimum = {}, maximum = {};
  std::optional<int> decimals = {};  // each cell has its number, with this many digits behind the point
  std::vector<std::string> numbers = {};  // or these texts, one for each value
};

/// Writes the map, as large as its names need. Throws as plot does, and for more than 200 rows or columns.
void plot(const std::string& path, const Heatmap& map);

/// Points with words beside them. All three have the same length.
struct Scatter {
  std::string title = {};
  std::vector<double> x = {}, y = {};
  std::vector<std::string> labels = {};
  int width = 1000, height = 800;  // pixels
};

/// The points without axes, whose numbers mean nothing here. Throws as plot does.
void plot(const std::string& path, const Scatter& scatter);

}  // namespace tegula::io
