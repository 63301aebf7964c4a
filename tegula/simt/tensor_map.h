#pragma once
// Tensors as the copy engine of a GPU (TMA) sees them.

#include <cstdint>
#include <optional>
#include <vector>

#include "tegula/core/dtype.h"

namespace tegula::simt {

/// Two axes: rows of `columns` elements, side by side in memory, that begin `stride` elements apart; and such planes apart from each other along further axes
/// (samples, heads). The launch makes it from its arguments. Boxes of it are copied into shared memory as rows of `pitch` bytes (32, 64, 128), with the swizzle of
/// that size; what lies outside of the tensor is 0 there. A box may have several planes, whose rows follow each other, those of the first of the axes first.
struct TensorMap {
  /// An argument of the program, or a number.
  struct Size {
    int parameter = -1;
    std::int64_t number = 0;
    bool operator==(const Size&) const = default;
  };
  /// The distance from a plane to the next: the product of these, in elements. Without a size the coordinate is one of a plane.
  struct Plane {
    std::vector<Size> factors;
    std::optional<Size> size = {};
    int box = 1, step = 1;  // planes of a box, and their distance in planes
    bool operator==(const Plane&) const = default;
  };
  static constexpr std::size_t kMostPlanes = 3;
  int pointer = 0;  // the parameter
  DType dtype = DType::bf16;
  Size columns, rows, stride;
  std::vector<Plane> planes;
  int box_columns = 0, box_rows = 0, pitch = 128;
  int row_step = 1;  // rows of a box are so far apart
  bool inside = false;  // coordinates may be anywhere: outside of the tensor all is 0
  bool operator==(const TensorMap&) const = default;

  /// Elements from a plane to the next; `number` gives a Size for a launch.
  template <class F>
  static std::int64_t distance(const Plane& plane, F&& number) {
    std::int64_t product = 1;
    for (const Size& factor : plane.factors) product *= number(factor);
    return product;
  }
  /// The rows of all planes of a box.
  int all_rows() const {
    int rows = box_rows;
    for (const Plane& plane : planes) rows *= plane.box;
    return rows;
  }
  std::size_t box_bytes() const { return static_cast<std::size_t>(all_rows()) * static_cast<std::size_t>(pitch); }
};

}  // namespace tegula::simt
