#pragma once
// Parts of feature maps, all in one size: what a detector's second stage looks at.

#include <cstdint>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// The values of one cell of a region, from its samples.
enum class RoiMode : std::uint8_t {
  Mean,
  Max,  // of the samples' weighted neighbours, as ONNX has it
};
struct RoiAlignOptions {
  std::int64_t height = 7, width = 7;  // of the result
  double scale = 1;                    // pixels of x for a unit of the boxes: 1/16 behind a stride of 16
  std::int64_t samples = 2;            // places in a cell, along each axis. torchvision's default depends on the boxes: say 2 there
  bool aligned = false;                // pixels are looked at from their middles: half a pixel to the left and up
  RoiMode mode = RoiMode::Mean;
};
/// x (N, C, H, W), boxes (R, 4) of corners x0, y0, x1, y1, and images (R), the integer number of the picture of each -> (R, C, height, width):
/// linear between pixels, 0 further than one pixel outside (He et al., "Mask R-CNN", 2017). Float dtypes, halves computed in f32; gradients to x
/// and boxes. Throws Error for shapes that do not fit.
Tensor roi_align(Arg x, Arg boxes, Arg images, const RoiAlignOptions& options = {});

struct RoiPoolOptions {
  std::int64_t height = 7, width = 7;
  double scale = 1;
};
/// The maximum of the pixels in each cell of a region whose corners are rounded to pixels; 0 for an empty cell (Girshick, "Fast R-CNN", 2015).
/// Shapes as roi_align. Gradients to x. Takes room for R pictures: a few regions of small maps.
Tensor roi_pool(Arg x, Arg boxes, Arg images, const RoiPoolOptions& options = {});

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> region_cases();

}  // namespace tegula
