#pragma once
// A set of images with one class each, in host memory.

#include <cstdint>

#include "tegula/core/host_array.h"

namespace tegula::data {

struct LabelledImages {
  HostArray images;  // (N, C, H, W) f32 in [0, 1]
  HostArray labels;  // (N,) i64, classes from 0

  std::int64_t size() const { return labels.size(); }
};

}  // namespace tegula::data
