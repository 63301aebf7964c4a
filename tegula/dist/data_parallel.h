#pragma once
// Data parallel training: every rank has the whole network and a part of each batch (Li et al., "PyTorch distributed", 2020; buckets as in Horovod's
// tensor fusion, Sergeev and Del Balso, 2018).

#include "tegula/dist/group.h"
#include "tegula/graph/variable.h"

namespace tegula::dist {

struct DataParallelOptions {
  Group group = world();
  /// Gradients travel in messages of about this size, in the order in which the backward pass makes them.
  std::int64_t bucket_bytes = 25 << 20;
};

/// What keeps the ranks' copies of a network the same: they begin alike, and each step they take is made of the mean of their gradients.
///   dist::DataParallel parallel = dist::data_parallel(net);          // train/data_parallel.h
///   adam.step(parallel.mean(grad(loss, parameters(net))));           // in a jit or not
/// Gradients have the same bits on all ranks, so weights stay the same, too, and a run gives the same bits as the one before.
class DataParallel {
 public:
  using Location = std::source_location;
  /// Gives all ranks rank 0's values of `state`. Throws Error where another rank has other shapes or dtypes.
  explicit DataParallel(const Parameters& state, DataParallelOptions options = {}, Location where = Location::current());

  const Group& group() const { return options_.group; }
  /// For losses that are means over as many rows on each rank.
  std::vector<Tensor> mean(const std::vector<Tensor>& gradients, Location where = Location::current()) const;
  /// For gradients that have their weights already: this rank's rows / all rows.
  std::vector<Tensor> sum(const std::vector<Tensor>& gradients, Location where = Location::current()) const;

 private:
  DataParallelOptions options_;
};

/// Gives all ranks the root's values, at once.
void broadcast_values(const Parameters& state, const Group& group, int root = 0,
                      std::source_location where = std::source_location::current());

}  // namespace tegula::dist
