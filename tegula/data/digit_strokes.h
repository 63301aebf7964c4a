#pragma once
// The pen strokes of the ten digits.

#include <vector>

namespace tegula::data {

struct Point {
  float x = 0, y = 0;
};

/// Points on a smooth curve (a Catmull-Rom spline). A point given twice in a row is a corner; a stroke that ends where it began is closed smoothly.
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

/// The styles in which people write a digit (0 to 9). x from about -0.6 to 0.6 (right), y from -1 to 1 (down).
const std::vector<Glyph>& glyphs_of(int digit);

}  // namespace tegula::data
