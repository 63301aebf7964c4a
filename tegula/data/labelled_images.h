#pragma once
// A set of images with one class each, in host memory.

#include <cstdint>
#include <vector>

#include "tegula/core/host_array.h"

namespace tegula::data {

struct LabelledImages {
  HostArray images;  // (N, C, H, W) f32 in [0, 1]
  HostArray labels;  // (N,) i64, classes from 0

  std::int64_t size() const { return labels.size(); }
  /// {image (C, H, W), label ()}: a data set as any other (data/dataset.h).
  std::vector<HostArray> get(std::int64_t i) const;
};

}  // namespace tegula::data
