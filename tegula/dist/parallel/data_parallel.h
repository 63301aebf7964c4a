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
  /// Of which state each of n ranks keeps an n-th (ZeRO's stages): 0 nothing, 1 the optimiser's, 2 gradients that are accumulated, too, 3 the parameters, too:
  /// each is gathered where the network reads it, forgotten behind that, and gathered again for the backward pass.
  int shard = 0;
  /// As what gradients travel (dist/collectives/narrow_exchange.h); they are f32 where they are added. bf16: half of the bytes of f32 and f64.
  /// fp8, not with .shard = 3: a quarter, and what rounding takes from a gradient is added to the next one (error feedback), for which each rank keeps as much f32 as it has parameters.
  std::optional<Precision> exchange = std::nullopt;
  /// Gradients of tables (nn::Embedding, take along axis 0) travel as the rows that were looked up, where that is less, and what reaches a table otherwise is exchanged
  /// first; all ranks look up as many rows. Without .shard, and not as fp8. (PyTorch: Embedding's sparse gradients.)
  bool lookups = false;
  /// Parameters of fewer elements stay whole with .shard = 3: biases and norms are not worth a message each.
  std::int64_t whole_below = 1024;
};

/// What keeps the ranks' copies of a network the same: they begin alike, and each step they take is made of the mean of their gradients.
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
  /// What the optimiser updates: the parameters, or this rank's part (k) of each.
  const Parameters& parameters() const;
  /// What gradients are taken by: the parameters, or with .shard = 3 this rank's parts.
  const Parameters& leaves() const;
  /// Of gradients by leaves(), those by parameters(). For losses that are means over as many rows on each rank. Throws Error when this rank's parts were updated since
  /// the last call and not published, which a jit-ed function finds at its second call.
  std::vector<Tensor> mean(const std::vector<Tensor>& gradients, Line where = Line::current()) const;
  /// The same where `weight` () says of how much each rank's loss is the mean, of how many rows or tokens: one of weight 0 adds nothing, whatever its gradients are.
  std::vector<Tensor> mean(const std::vector<Tensor>& gradients, Arg weight) const;
  /// For gradients that have their weights already: this rank's rows / all rows.
  std::vector<Tensor> sum(const std::vector<Tensor>& gradients, Line where = Line::current()) const;
  /// Behind the optimiser's step: all ranks have the new parameters. Nothing to do without parts.
  void publish(Line where = Line::current()) const;

  /// What a checkpoint needs beside the network and the optimiser to go on with .exchange = fp8.
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

/// Gives all ranks the root's values, at once; but for what the ranks of this group have parts of.
void broadcast_values(const Parameters& state, const Group& group, int root = 0, Line where = Line::current());

}  // namespace tegula::dist
