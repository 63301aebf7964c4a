#pragma once
// A single-shot detector: (N, in, H, W) -> scores and boxes of all anchors at once.

#include <array>
#include <cstdint>
#include <vector>

#include "tegula/nn/convolution.h"
#include "tegula/nn/sequential.h"

namespace tegula::models {

struct FoundOptions {
  double score = 0.05;  // boxes with a smaller one are left out
  double iou = 0.5;     // of two boxes of a class that overlap by more the better stays
  std::int64_t most = 20;
};
struct Found {
  Tensor boxes;    // (N, most, 4): corners; 0 behind the last
  Tensor scores;   // (N, most), 0 behind the last
  Tensor classes;  // (N, most) i64, -1 behind the last
  Tensor count;    // (N) i64
};

/// After Liu et al., "SSD: single shot multibox detector" (2016), with one map of 1 / 2^stages of the size and the focal loss of Lin et al. (2017): each
/// anchor has a score for each class and four numbers that move its box. H and W are multiples of 2^stages.
struct SingleShotDetector {
  std::int64_t classes, in = 3, width = 16;
  std::vector<std::array<double, 2>> sizes{{12, 22}, {20, 22}, {16, 28}, {28, 28}};  // widths and heights of anchors, in pixels
  std::int64_t stages = 3;
  nn::Sequential body = layers(in, width, stages);
  nn::Conv2d scores = scorer(width << stages, static_cast<std::int64_t>(sizes.size()) * classes);
  nn::Conv2d codes{width << stages, static_cast<std::int64_t>(sizes.size()) * 4, 3, {.padding = 1}};

  /// (N, anchors, classes + 4): scores before the sigmoid, and codes (encode_boxes).
  Tensor operator()(Tensor x);
  /// (anchors, 4), for pictures of that size.
  Tensor anchors(std::int64_t height, std::int64_t width) const;
  /// The loss of such an output for boxes (N, M, 4) of classes (N, M), -1 where there is none: focal loss and smooth L1, of an anchor that has an object.
  Tensor loss(Arg output, Arg boxes, Arg of, std::int64_t height, std::int64_t width) const;
  /// The objects that an output found.
  Found found(Arg output, std::int64_t height, std::int64_t width, const FoundOptions& options = {}) const;

  static nn::Sequential layers(std::int64_t in, std::int64_t width, std::int64_t stages);
  static nn::Conv2d scorer(std::int64_t in, std::int64_t out);
};

}  // namespace tegula::models
