#include "tegula/data/dataset.h"

#include <algorithm>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::data {

Dataset::Dataset(HostArray in, HostArray out, std::source_location where) : inputs(std::move(in)), targets(std::move(out)) {
  if (inputs.shape.empty() || targets.shape.empty() || inputs.shape[0] != targets.shape[0]) {
    throw Error({.op = "Dataset",
                 .got = "inputs " + to_string(inputs.shape) + " and targets " + to_string(targets.shape),
                 .expected = "a first axis of the same length in both",
                 .advice = "give every input row one target row",
                 .where = where});
  }
}

Dataset Dataset::first(std::int64_t count) const {
  Dataset part = *this;
  const std::int64_t rows = std::clamp<std::int64_t>(count, 0, size());
  if (!part.inputs.shape.empty()) part.inputs.shape[0] = rows;
  if (!part.targets.shape.empty()) part.targets.shape[0] = rows;
  return part;
}

}  // namespace tegula::data
