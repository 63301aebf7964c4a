#include "tegula/dist/parallel/data_parallel.h"

#include "tegula/core/error.h"
#include "tegula/dist/collectives/buckets.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/collectives/lookups.h"
#include "tegula/dist/collectives/narrow_exchange.h"
#include "tegula/dist/parallel/sharding.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/frozen.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula::dist {

void broadcast_values(const Parameters& state, const Group& group, int root, Line where) {
  refuse_in_trace("broadcast_values", where);
  if (group.size() == 1) return;
  settle_noted();  // exchanges come first …
  default_device().synchronize();  // … also where they are still queued
  for (const Parameter& parameter : state) {
    if (const Partition* const parts = parameter.cell->partition().get(); parts && parts->ranks() == group.id()) continue;  // each its own
    const HostArray mine = parameter.read(where).to_array(where);
    HostArray theirs = HostArray::empty(mine.dtype, mine.shape);
    carry_out(group, {Kind::Broadcast, mine.dtype, mine.shape, Reduction::Sum, root}, mine.buffer->data(), theirs.buffer->data(), nullptr,
              where);
    if (group.rank() != root) parameter.assign(from_array(theirs, where), where);
  }
}

DataParallel::DataParallel(const Parameters& state, DataParallelOptions options, Line where)
    : DataParallel({}, state, std::move(options), where) {}

DataParallel::DataParallel(const Parameters& trained, const Parameters& state, DataParallelOptions options, Line where)
    : options_(std::move(options)),
      trained_(trained) {
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw Error({.op = "data_parallel", .got = got, .expected = expected, .where = where});
  };
  if (options_.bucket_bytes < 1) refuse("buckets of " + std::to_string(options_.bucket_bytes) + " bytes", "at least one");
  if (options_.shard < 0 || options_.shard > 3) {
    refuse(".shard = " + std::to_string(options_.shard), "0 nothing, 1 the optimiser's state, 2 gradients, too, 3 parameters, too");
  }
  const bool fp8 = options_.exchange == Precision::fp8;
  if (options_.exchange && *options_.exchange != Precision::bf16 && !fp8)
    refuse(".exchange = " + std::string(name(*options_.exchange)), "bf16, fp8, or nothing: as the gradients are");
  if (fp8 && trained.empty())
    refuse("no list of parameters whose gradients are fed back", "the trained ones: data_parallel(net, {.exchange = Precision::fp8})");
  if (fp8 && options_.shard > 2)
    refuse(".exchange = fp8 with .shard = 3", "bf16, or .shard of at most 2: what FP8 takes from gradients each rank keeps whole");
  if (options_.lookups && (fp8 || options_.shard > 0))
    refuse(std::string(".lookups with ") + (fp8 ? ".exchange = fp8" : ".shard = " + std::to_string(options_.shard)),
           "whole gradients, as they are or as bf16");
  if (options_.shard > 0 && trained.empty())
    refuse("no list of parameters to share out", "the trained ones: data_parallel(net, {.shard = 1})");
  broadcast_values(state, options_.group, 0, where);
  if (fp8) residuals_ = Residuals(trained, options_.group, where);
  if (options_.shard == 0 || options_.group.size() == 1) return;
  sharding_ = std::make_shared<Sharding>(trained,
                                         ShardingOptions{.group = options_.group,
                                                         .stage = options_.shard,
                                                         .bucket_bytes = options_.bucket_bytes,
                                                         .whole_below = options_.whole_below,
                                                         .exchange = options_.exchange},
                                         where);
  sharding_->release();
}

const Parameters& DataParallel::parameters() const { return sharding_ ? sharding_->parts() : trained_; }
const Parameters& DataParallel::leaves() const { return sharding_ ? sharding_->leaves() : trained_; }

std::vector<Tensor> DataParallel::mean(const std::vector<Tensor>& gradients, Line where) const {
  return reduced(gradients, Reduction::Mean, where);
}

std::vector<Tensor> DataParallel::mean(const std::vector<Tensor>& gradients, Arg weight) const {
  const Line where = weight.loc;
  std::vector<Tensor> parts = gradients;
  {
    const In frame("data_parallel", where);
    const Tensor own = cast(weight.tensor("data_parallel", f32), f32), all = all_reduce(Arg(own, where), options_.group);
    const Tensor part = own / tegula::where(all == 0, 1, all);
    for (Tensor& gradient : parts) {
      if (gradient.defined()) gradient = tegula::where(part == 0, 0, gradient * cast(part, gradient.dtype()));
    }
  }
  return sum(parts, where);
}

std::vector<Tensor> DataParallel::sum(const std::vector<Tensor>& gradients, Line where) const {
  return reduced(gradients, Reduction::Sum, where);
}

void DataParallel::publish(Line where) const {
  if (sharding_) sharding_->publish(where);
}

std::vector<Tensor> DataParallel::reduced(const std::vector<Tensor>& gradients, Reduction reduction, const Line& where) const {
  if (options_.exchange == Precision::fp8) {  // one rank alone still has the residuals of a checkpoint of several
    if (sharding_) sharding_->require_published(where);
    const In frame("data_parallel", where);
    const PrecisionScope exact(Precision::fp32);
    std::vector<Tensor> own = gradients;
    for (Tensor& gradient : own) {
      if (reduction == Reduction::Mean && gradient.defined()) gradient = Arg(gradient, where) / static_cast<double>(options_.group.size());
    }
    return sharding_ ? residuals_.parts_of_sum(own, options_.bucket_bytes, where) : residuals_.sum(own, options_.bucket_bytes, where);
  }
  if (options_.group.size() == 1) return gradients;
  if (sharding_) {
    sharding_->require_published(where);
    return sharding_->reduced(gradients, reduction, where);
  }
  const In frame("data_parallel", where);
  const auto narrows = [&](const Tensor& all) { return options_.exchange && (all.dtype() == f32 || all.dtype() == f64); };
  const auto exchange = [&](const Tensor& all) {
    return narrows(all) ? all_reduce_in_bf16(all, options_.group, reduction, where)
                        : all_reduce(Arg(all, where), options_.group, reduction);
  };
  std::vector<std::optional<TableSum>> tables(gradients.size());
  std::vector<Tensor> flat(gradients.size());
  for (std::size_t i = 0; i < flat.size(); ++i) {
    if (!gradients[i].defined() || (i < trained_.size() && is_frozen(*trained_[i].cell))) continue;
    auto table = options_.lookups ? table_gradient(gradients[i], options_.group.size(), where) : std::nullopt;
    if (!table) flat[i] = flatten(Arg(gradients[i], where));
    else
      tables[i].emplace(std::move(*table), options_.group, reduction, narrows(gradients[i]) ? std::optional(bf16) : std::nullopt, exchange,
                        where);
  }
  std::vector<Tensor> out = in_buckets(flat, options_.bucket_bytes, exchange, where);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (tables[i]) out[i] = tables[i]->finish();
    else out[i] = out[i].defined() ? reshape(Arg(out[i], where), gradients[i].shape()) : gradients[i];  // gradients of frozen parameters
  }
  return out;
}

}  // namespace tegula::dist
