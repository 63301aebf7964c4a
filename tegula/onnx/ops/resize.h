#pragma once
// ONNX's Resize along one axis.

#include <string>

#include "tegula/onnx/call.h"

namespace tegula::onnx {

struct Resizing {
  std::string mode;  // nearest, linear, cubic
  std::string places;  // coordinate_transformation_mode
  std::string nearest;  // nearest_mode
  double cubic = -0.75;
  bool excludes_outside = false, is_antialiased = false;
  double extrapolation = 0;  // of tf_crop_and_resize, whose region begins and ends here, in parts of the axis
  double begin = 0, end = 1;
};

struct NewSize {
  std::int64_t size = 0;
  double scale = 1;  // by which places are computed; the size itself may be rounded
};

/// x in another size along `axis`: each place from its neighbours, elements beyond the edge being those at the edge. Throws Error for modes that ONNX does not have.
Tensor resized(const Call& call, const Tensor& x, int axis, const NewSize& to, const Resizing& how);

}  // namespace tegula::onnx
