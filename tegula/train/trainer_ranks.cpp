// The parts of a Trainer for several ranks that train together.

#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/dist/collectives/agreement.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/parallel/sharding.h"
#include "tegula/graph/frame.h"
#include "tegula/nn/freeze.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/join.h"
#include "tegula/train/trainer.h"

namespace tegula {
namespace {

/// One of each set of ranks that share parameters out.
std::vector<const Partition*> partitions_of(const Parameters& parameters) {
  std::map<std::int64_t, const Partition*> found;
  for (const Parameter& parameter : parameters) {
    if (const Partition* const partition = parameter.cell->partition().get()) found.emplace(partition->ranks(), partition);
  }
  std::vector<const Partition*> out;
  for (const auto& [ranks, partition] : found) out.push_back(partition);
  return out;
}

}  // namespace

Trainer::Trainer(dist::Pipeline& pipeline, optim::Optimizer& optimizer, TrainerOptions options, Line where)
    : Trainer(nn::AnyModule(pipeline.network()),
              Forward{1, [&pipeline, where](const std::vector<Tensor>& x) { return std::vector{pipeline(Arg(x[0], where))}; }}, optimizer,
              pipeline.loss(), options, where) {
  pipeline_ = &pipeline;
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw Error({.op = "Trainer", .got = got + " with a Pipeline", .expected = expected, .where = where});
  };
  if (options.objective || options.count) refuse("an objective or a count", "the loss that the Pipeline was made with, a mean over rows");
  if (scaler_) refuse(".precision = fp16", "another precision: gradients are not scaled between stages");
  if (options.shard > 2) refuse(".shard = 3", "at most 2: each rank has its stages' parameters alone");
}

/// The model's state for a file: for ranks that have different layers, this rank's layers.
Parameters Trainer::model_state() const { return pipeline_ ? pipeline_->state() : nn::state(module_); }

/// The state that changes beside the weights; for a partitioned tensor, this rank's part.
Parameters Trainer::optimizer_state() const {
  Parameters state = optimizer_.state();
  if (scaler_) {
    for (auto& part : scaler_->state()) state.push_back(std::move(part));
  }
  if (accumulator_) {
    for (const Parameter& part : accumulator_->state()) state.push_back({"accumulated." + part.name, part.cell});
  }
  state.insert(state.end(), best_.begin(), best_.end());
  return state;
}

CheckpointParts Trainer::parts() {
  Parameters optimizer = optimizer_state();
  if (parallel_) optimizer.insert(optimizer.end(), parallel_->residuals().begin(), parallel_->residuals().end());
  return {.model = nn::state(module_),
          .optimizer = pipeline_ ? pipeline_->whole(optimizer, where_) : optimizer,
          .generator = &default_generator(),
          .loader = &*loader_,
          .epochs = options_.epochs,
          .extra = {{"history", saved_history()}, {"validations", saved_validations()}},
          .metadata = options_.metadata};
}

void Trainer::save(const std::string& path) {
  if (!loader_) throw Error({.op = "Trainer::save", .got = "no training", .expected = "a call from a callback of fit, or after it"});
  save_checkpoint(path, parts(), writes());
}

/// True if this rank writes files.
bool Trainer::writes() const {
  bool writes = options_.group.rank() == 0;
  for (const Partition* partition : partitions_of(optimizer_.parameters())) writes = writes && partition->writes();
  return writes;
}

/// True on all ranks if the gradients are finite on all ranks that have parts of them.
Tensor Trainer::finite_everywhere(Tensor finite) const {
  for (const Partition* partition : partitions_of(optimizer_.parameters())) finite = partition->sum(cast(!finite, f32), where_) == 0;
  return finite;
}

/// The gradients for ranks with different layers. The last rank, which has the scores, measures everything else; hits are NaN if targets are no classes.
Trainer::Gradients Trainer::staged_gradients(const std::vector<Tensor>& batch, const Tensor& rows, const Tensor& share) const {
  if (batch.size() != 2) {
    throw Error({.op = "Trainer",
                 .got = "samples of " + std::to_string(batch.size()) + " tensors with a Pipeline",
                 .expected = "an input and a target",
                 .where = where_});
  }
  const std::size_t metrics = options_.metrics.size();
  const auto numbers = [&](const Tensor& output, const Tensor& target, double part) {
    std::vector<Tensor> out = evaluator_.measured_beside_loss({output}, {target});
    if (out.size() == metrics) out.emplace_back(std::numeric_limits<float>::quiet_NaN(), where_);
    const In frame("Trainer", where_);
    for (std::size_t i = 0; i < metrics; ++i) out[i] = out[i] * part;  // means over rows
    return out;
  };
  auto [result, beside] =
      pipeline_->measured_gradients(Arg(batch[0], where_), Arg(batch[1], where_), share, {.count = metrics + 1, .numbers = numbers});
  auto& [loss, gradients] = result;
  std::vector<Tensor> measured{loss};
  measured.insert(measured.end(), beside.begin(), beside.end());
  if (share.defined()) measured = measured_by_all(measured, share, share);
  if (reduces_each_batch() && parallel_) gradients = parallel_->sum(gradients, where_);
  return {std::move(measured), std::move(gradients), rows};
}

/// Means over all ranks: this rank's numbers count by its `part` of the total. After the loss and the metrics come numbers: of hits, and
/// of the loss's terms (.count), for ranks that have a share of the rows.
std::vector<Tensor> Trainer::measured_by_all(const std::vector<Tensor>& measured, const Tensor& part, const Tensor& share) const {
  const In frame("Trainer", where_);
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Tensor value = cast(measured[i], f32);
    parts.push_back(i <= options_.metrics.size() ? where(part == 0, 0, value * part) : where(share > 0, value, 0));
  }
  return unbind(dist::all_reduce(Arg(stack(parts, 0, where_), where_), options_.group));
}

/// Throws Error if ranks differ in options that no collective would catch: clipping, stopping, or the rows they take.
void Trainer::require_like_options(std::int64_t rows, std::int64_t test_rows) const {
  const auto item = [](const std::string& name, const auto& value) {
    std::ostringstream text;
    text << name << " " << value;
    return text.str();
  };
  std::string later;
  for (const BatchFrom& one : options_.batches) later += std::to_string(one.batch) + " from epoch " + std::to_string(one.epoch) + " on, ";
  const auto precision_item = [&](const std::string& option, const std::optional<Precision>& value) {
    return item(option, value ? name(*value) : "as it is");
  };
  dist::require_alike("Trainer",
                      {item("rows to train on:", rows),
                       item("rows to test with:", test_rows),
                       item("epochs", options_.epochs),
                       item("steps", options_.steps),
                       item("batch", options_.batch),
                       item("later batches:", later),
                       item("test_batch", options_.test_batch),
                       item("seed", options_.seed),
                       item("shuffle", options_.shuffle),
                       item("clip_norm", options_.clip_norm),
                       item("accumulate", options_.accumulate),
                       item("validate_every", options_.validate_every),
                       item("shard", options_.shard),
                       precision_item("exchange", options_.exchange),
                       precision_item("precision", options_.precision),
                       item("frozen parameters:", optimizer_.parameters().size() - trainable(optimizer_.parameters()).size()),
                       item("early stopping", options_.early_stopping.has_value()),
                       item("metrics:", options_.metrics.size()),
                       item("parameters:", optimizer_.parameters().size()),
                       resume_.empty() ? "no checkpoint to resume from" : "a checkpoint to resume from"},
                      "the same options and data on all ranks that train together", options_.group, where_);
}

/// All ranks take rank 0's weights and state.
void Trainer::begin_alike() {
  if (!has_ranks() && !feeds_back()) return;
  if (parallel_) {
    dist::broadcast_values(model_state(), options_.group, 0, where_);
  } else {
    parallel_.emplace(optimizer_.parameters(), model_state(),
                      dist::DataParallelOptions{.group = options_.group, .shard = options_.shard, .exchange = options_.exchange}, where_);
  }
  dist::broadcast_values(optimizer_state(), options_.group, 0, where_);
}

/// The optimiser goes on with this rank's parts. Once; a later fit has them already.
void Trainer::begin_sharded() {
  if (!has_ranks() || options_.shard == 0) return;
  if (parallel_) {  // another fit, whatever the weights are now
    dist::broadcast_values(model_state(), options_.group, 0, where_);
    parallel_->sharding()->refresh(where_);
    return parallel_->sharding()->release();
  }
  begin_alike();
  dist::Sharding& sharding = *parallel_->sharding();
  optimizer_.take_parts(sharding.parts(), [&](std::size_t i, const Variable& whole) { return sharding.part_of(i, whole, where_); }, where_);
  if (accumulator_ && options_.shard >= 2)
    accumulator_->take_parts([&](std::size_t i, const Variable& whole) { return sharding.part_of(i, whole, where_); });
}

/// Each rank its own from here on: masks of dropout differ.
void Trainer::draw_own_numbers() {
  if (!has_ranks() || std::exchange(own_numbers_, true)) return;
  Variable& seed = default_generator().seed_variable();
  seed.assign(seed.read(where_) + static_cast<std::int64_t>(options_.group.rank()) * 0x9e3779b9, where_);
}

}  // namespace tegula
