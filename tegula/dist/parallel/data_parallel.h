#pragma once
// Data parallel training: every rank has the network and a part of each batch (Li et al., "PyTorch distributed", 2020; buckets as in Horovod's
// tensor fusion, Sergeev and Del Balso, 2018), and on request only a part of the state (ZeRO, Rajbhandari et al., 2020).

#include <memory>
#include <optional>

#include "tegula/dist/exchange/group.h"
#include "tegula/dist/parallel/residuals.h"
#include "tegula/graph/precision.h"
#include "tegula/graph/variable.h"
#include "tegula/runtime/collective.h"

namespace tegula::dist {

class Sharding;

struct DataParallelOptions {
  Group group = world();
  /// Gradients travel in messages of about this size, in the order in which the backward pass makes them.
  std::int64_t bucket_bytes = 25 << 20;
  /// State of which each of n ranks keeps one n-th (ZeRO's stages): 0 nothing, 1 the optimiser's, 2 also accumulated gradients, 3 also the parameters:
  /// each is gathered where the network reads it, freed after that, and gathered again for the backward pass.
  int shard = 0;
  /// The format in which gradients travel (dist/collectives/narrow_exchange.h); they are added in f32. bf16: half of the bytes of f32 and f64.
  /// fp8, not with .shard = 3: a quarter, and rounding errors are added to the next gradient (error feedback), for which each rank keeps as much f32 as it has parameters.
  std::optional<Precision> exchange = std::nullopt;
  /// Gradients of tables (nn::Embedding, take along axis 0) travel as the looked-up rows, if that is less; other gradients of a table are exchanged
  /// first; all ranks look up the same number of rows. Without .shard, and not as fp8. (PyTorch: Embedding's sparse gradients.)
  bool lookups = false;
  /// Parameters of fewer elements stay whole with .shard = 3: biases and norms are not worth a message each.
  std::int64_t whole_below = 1024;
};

/// Keeps the ranks' copies of a network equal: they begin with the same values, and each step uses the mean of their gradients.
///   dist::DataParallel parallel = dist::data_parallel(net);          // train/data_parallel.h
///   adam.step(parallel.mean(grad(loss, parameters(net))));           // in a jit or not
/// Gradients have the same bits on all ranks, so weights stay the same, too, and a run gives the same bits as the one before.
///
/// With parts of the state, the optimiser is made of those, and its new values go to all:
///   dist::DataParallel parallel = dist::data_parallel(net, {.shard = 3});
///   optim::Adam adam(parallel.parameters());
///   adam.step(parallel.mean(grad(loss, parallel.leaves())));
///   parallel.publish();
/// which is right without parts, too. Optimisers that update element by element can be used so (Optimizer::elementwise).
class DataParallel {
 public:
  /// Gives all ranks rank 0's values of `state`. Throws Error where another rank has other shapes or dtypes.
  explicit DataParallel(const Parameters& state, DataParallelOptions options = {}, Line where = Line::current());
  /// `trained`: those of the state that are. Throws Error for a .shard that is none, and parameters that are parts already.
  DataParallel(const Parameters& trained, const Parameters& state, DataParallelOptions options, Line where = Line::current());

  const Group& group() const { return options_.group; }
  /// The cells that the optimiser updates: the parameters, or this rank's part (k) of each.
  const Parameters& parameters() const;
  /// The cells to differentiate with respect to: the parameters, or with .shard = 3 this rank's parts.
  const Parameters& leaves() const;
  /// The mean over the ranks: gradients by leaves() -> gradients by parameters(). For losses that are means over as many rows on each rank. Throws Error if this rank's parts
  /// were updated since the last call and not published, which a jit-ed function finds at its second call.
  std::vector<Tensor> mean(const std::vector<Tensor>& gradients, Line where = Line::current()) const;
  /// The same where `weight` () says of how much each rank's loss is the mean, of how many rows or tokens: one of weight 0 adds nothing, whatever its gradients are.
  std::vector<Tensor> mean(const std::vector<Tensor>& gradients, Arg weight) const;
  /// For gradients that have their weights already: this rank's rows / all rows.
  std::vector<Tensor> sum(const std::vector<Tensor>& gradients, Line where = Line::current()) const;
  /// Behind the optimiser's step: all ranks have the new parameters. Nothing to do without parts.
  void publish(Line where = Line::current()) const;

  /// The additional state that a checkpoint needs with .exchange = fp8, beside the network and the optimiser.
  const Parameters& residuals() const { return residuals_.cells(); }
  /// Null without parts.
  Sharding* sharding() const { return sharding_.get(); }

 private:
  std::vector<Tensor> reduced(const std::vector<Tensor>& gradients, runtime::Reduction reduction, const Line& where) const;

  DataParallelOptions options_;
  Parameters trained_;
  Residuals residuals_;
  std::shared_ptr<Sharding> sharding_;
};

/// Gives all ranks the root's values, at once, except for cells of which the ranks of this group have parts.
void broadcast_values(const Parameters& state, const Group& group, int root = 0, Line where = Line::current());

}  // namespace tegula::dist
