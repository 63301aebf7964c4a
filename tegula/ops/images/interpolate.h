#pragma once
// Images, lines and volumes in another size.

#include <initializer_list>
#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/window.h"

namespace tegula {

enum class Interpolation : std::uint8_t {
  Nearest,       // the element at floor(position * input / output), as PyTorch's "nearest" and OpenCV have it
  NearestExact,  // the one whose middle is nearest, as Pillow and scikit-image
  Linear,        // between the two around it, along each axis
  Cubic,         // from four elements along each axis (Keys, 1981; a = -0.75, with antialias -0.5)
  Area,          // the mean of the pixels that a pixel of the result covers: adaptive_avg_pool
  Bilinear = Linear,
  Trilinear = Linear,
  Bicubic = Cubic,
};

/// One factor for all spatial axes, or one for each: 2, {2, 0.5}.
class ScaleFactor {
 public:
  ScaleFactor() = default;  // not given
  ScaleFactor(double every) : values_{every} {}
  ScaleFactor(std::initializer_list<double> values) : values_(values) {}
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
};

struct InterpolateOptions {
  PerAxis size = {};               // size of the result; or
  ScaleFactor scale_factor = {};   // the size is floor(input * factor), and positions are computed with the factor itself, as in PyTorch
  Interpolation mode = Interpolation::Nearest;
  bool align_corners = false;      // the middles of the corner pixels coincide, not their outer edges; Linear and Cubic
  // Linear and Cubic: when an axis shrinks, over all elements that a pixel of the result covers, as Pillow. With align_corners as in PyTorch: a
  // position is (in - 1) / (out - 1) inputs wide, but lies as without, so that the corners do not coincide
  bool antialias = false;
};

/// x (N, C, spatial…) with one to three spatial axes -> (N, C, spatial'…). One axis after the other, the one that shrinks most first. Float dtypes,
/// halves computed in f32; Nearest and NearestExact of any dtype.
Tensor interpolate(Arg x, const InterpolateOptions& options);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> interpolate_cases();

}  // namespace tegula
