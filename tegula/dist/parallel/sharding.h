#pragma once
// State of which every rank keeps a part (ZeRO: Rajbhandari, Rasley, Ruwase and He, "ZeRO: memory optimizations toward training trillion parameter
// models", 2020). With n ranks, rank r has the r-th n-th of a parameter's elements as a vector, padded with zeros to a multiple of n.

#include <optional>

#include "tegula/dist/exchange/exchange.h"
#include "tegula/graph/precision.h"
#include "tegula/graph/variable.h"

namespace tegula::dist {

struct ShardingOptions {
  Group group;
  int stage = 1;
  std::int64_t bucket_bytes = 0;
  std::int64_t whole_below = 0;
  std::optional<Precision> exchange = {};  // format in which gradients travel: bf16, or as they are
};

/// The shards of parameters, and the way of gradients and parameters from the whole to the shards and back. Each shard's cell has its Partition: files
/// hold the whole, and norms count all shards. The parameter may itself be a part that ranks of another group have (tensor parallel, a pipeline's stage).
/// Functions that gather are collectives: all ranks call them.
class Sharding {
 public:
  /// `whole` has the same values on all ranks.
  Sharding(Parameters whole, const ShardingOptions& options, Line where);
  Sharding(const Sharding&) = delete;
  Sharding& operator=(const Sharding&) = delete;

  /// The shard of each parameter, under its name: the optimiser updates these.
  const Parameters& parts() const { return parts_; }
  /// The cells to differentiate with respect to: this rank's shard of a parameter that is not kept whole, otherwise the parameter.
  const Parameters& leaves() const { return leaves_; }
  /// This rank's part of the sum (mean) of gradients by the leaves.
  std::vector<Tensor> reduced(const std::vector<Tensor>& gradients, Reduction reduction, Line where) const;
  /// Parameters that are kept whole take the values of all ranks' parts.
  void publish(Line where) const;
  /// Throws Error when the parts of parameters that are kept whole were written since the last call and the parameters were not.
  void require_published(Line where) const;
  /// The parts take their values of the parameters that are kept whole.
  void refresh(Line where) const;

  /// This rank's part of a state that has parameter i's shape.
  Variable part_of(std::size_t i, const Variable& whole, Line where) const;
  /// Gives up the memory of parameters that are not kept whole, and has it again.
  void release();
  void restore(Line where);

 private:
  /// The numbers of writes to the parts and to the parameters that are kept whole.
  struct Writes {
    std::uint64_t parts = 0, whole = 0;
  };
  bool kept_whole(std::size_t i) const;
  Writes writes() const;
  Variable own_variable(std::size_t i, const Tensor& whole, const Line& where) const;

  Parameters whole_, parts_, leaves_;
  ShardingOptions options_;
  bool released_ = false;
  mutable Writes seen_;  // by require_published()
};

}  // namespace tegula::dist
