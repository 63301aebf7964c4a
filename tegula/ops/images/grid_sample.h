#pragma once
// Images looked at from other points: spatial transformers (Jaderberg et al., 2015).

#include "tegula/graph/tensor.h"

namespace tegula {

enum class GridMode : std::uint8_t {
  Bilinear,  // from the four pixels around the point, eight in volumes
  Nearest,   // a point between two goes to the even one
  Bicubic,   // from the 16 pixels around the point (Keys, 1981; a = -0.75), to each of which the padding applies; images only
};
/// The values outside of the image.
enum class GridPadding : std::uint8_t {
  Zeros,
  Border,      // the pixel at the edge
  Reflection,  // the image mirrored at its edges; with align_corners at the middles of the pixels there
};
struct GridSampleOptions {
  GridMode mode = GridMode::Bilinear;
  GridPadding padding = GridPadding::Zeros;
  bool align_corners = false;  // -1 and 1 are the middles of the corner pixels, not their outer edges
};
/// x (N, C, H, W), grid (N, H', W', 2) of points (x, y) from -1 (left, top) to 1 -> (N, C, H', W'); or volumes x (N, C, D, H, W),
/// grid (N, D', H', W', 3) of (x, y, z). Float dtypes, halves computed in f32; gradients to x and grid. A point that is NaN or infinite
/// lies outside and gives 0 (Border: infinite ones the edge).
Tensor grid_sample(Arg x, Arg grid, const GridSampleOptions& options = {});

struct AffineGridOptions {
  bool align_corners = false;
};
/// theta (N, 2, 3) and the size (N, C, H, W) of the result of grid_sample -> the grid (N, H, W, 2) of theta · (x, y, 1); in volumes (N, 3, 4) and
/// (N, C, D, H, W) -> (N, D, H, W, 3).
Tensor affine_grid(Arg theta, const Shape& size, const AffineGridOptions& options = {});

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> grid_sample_cases();

}  // namespace tegula
