#pragma once
// Inputs and targets, row by row, in host memory: what a Loader makes batches of.

#include <cstdint>
#include <source_location>

#include "tegula/data/labelled_images.h"

namespace tegula::data {

struct Dataset {
  HostArray inputs;   // (N, …)
  HostArray targets;  // (N, …), for classes (N,) i64

  Dataset() = default;
  /// Throws Error when the two differ in the number of rows, or have no axis to count them.
  Dataset(HostArray inputs, HostArray targets, std::source_location where = std::source_location::current());
  Dataset(const LabelledImages& images) : Dataset(images.images, images.labels) {}

  std::int64_t size() const { return inputs.shape.empty() ? 0 : inputs.shape[0]; }
  /// The first `count` rows, or all when there are fewer. Copies nothing.
  Dataset first(std::int64_t count) const;
};

}  // namespace tegula::data
