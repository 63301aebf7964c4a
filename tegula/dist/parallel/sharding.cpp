#include "tegula/dist/parallel/sharding.h"

#include <algorithm>
#include <mutex>

#include "tegula/core/error.h"
#include "tegula/dist/collectives/buckets.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/collectives/narrow_exchange.h"
#include "tegula/dist/collectives/partition.h"
#include "tegula/dist/collectives/rows.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/frozen.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {
namespace {

/// (…) -> (k).
Tensor own_part(const Tensor& whole, const Group& group, const Line& where) {
  return select(Arg(rows_of(whole, group, where), where), 0, group.rank());
}

/// The whole that a shard is part of. `within`: the partition of that whole among the ranks of another group, or null.
class ShardPartition final : public NestedPartition {
 public:
  using NestedPartition::NestedPartition;
  Tensor whole(const Tensor& part, const Line& where) const override {
    return whole_of_within(from_rows(all_gather(Arg(part, where), group_), shape_, where), where);
  }
  Tensor part(const Tensor& whole, const Line& where) const override { return own_part(part_of_within(whole, where), group_, where); }
};

/// A cell whose value all ranks have together.
class Gathered final : public CellSource {
 public:
  Gathered(Ref<Cell> part, Shape shape, Group group, std::optional<Precision> gradient)
      : part_(std::move(part)),
        shape_(std::move(shape)),
        group_(std::move(group)),
        gradient_(gradient) {}

  /// Gathers the value; in a trace, reading it twice gathers once.
  Tensor read(const Line& where) const override {
    const In frame("all_gather", where);
    const Tensor part = read_cell(part_, where);
    const Trace* const trace = Trace::current();
    const std::lock_guard lock(mutex_);
    if (trace && last_.defined() && trace_ == trace->id() && part_node_ == part.node()) return last_;
    const Tensor whole = from_rows(all_gather_anew(Arg(part, where), group_, gradient_), shape_, where);
    if (trace) last_ = whole, trace_ = trace->id(), part_node_ = part.node();
    return whole;
  }
  void write(const Tensor& value, const Line& where) const override {
    const In frame("shard", where);
    write_cell(part_, own_part(value, group_, where), where);
  }

 private:
  Ref<Cell> part_;
  Shape shape_;
  Group group_;
  std::optional<Precision> gradient_;  // format in which it travels
  mutable std::mutex mutex_;
  mutable Tensor last_;
  mutable std::uint32_t trace_ = 0;
  mutable Ref<Node> part_node_;
};

}  // namespace

Sharding::Sharding(Parameters whole, const ShardingOptions& options, Line where) : whole_(std::move(whole)), options_(options) {
  const In frame("data_parallel", where);
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    const Parameter& parameter = whole_[i];
    const Partition* const partition = parameter.cell->partition().get();
    if (parameter.cell->source() || (partition && partition->ranks() == options_.group.id())) {
      throw Error({.op = "data_parallel",
                   .got = parameter.name + ", of which every rank keeps a part already",
                   .expected = "parameters that are whole, or shared out by the ranks of another axis of a mesh",
                   .where = where});
    }
    parts_.push_back({parameter.name, own_variable(i, parameter.read(where), where).cell()});
    freeze_with(*parts_.back().cell, *parameter.cell);
    leaves_.push_back(kept_whole(i) ? parameter : parts_.back());
  }
  for (const Parameter& part : parts_) part.cell->settled();  // while the whole is there
  seen_ = writes();
}

Sharding::Writes Sharding::writes() const {
  Writes sum;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (kept_whole(i)) sum.parts += parts_[i].cell->version(), sum.whole += whole_[i].cell->version();
  }
  return sum;
}

void Sharding::require_published(Line where) const {
  const Writes now = writes(), before = std::exchange(seen_, now);
  if (now.parts == before.parts || now.whole != before.whole) return;
  throw Error(
      {.op = "data_parallel",
       .got = "gradients again, though the optimiser's step behind those before was not published",
       .expected = "publish() behind each step with .shard = " + std::to_string(options_.stage),
       .advice = "each rank updates its parts alone, and publish() gives them to all: sgd.step(parallel.mean(…)); parallel.publish();",
       .where = origin_at(where).where});
}

Variable Sharding::own_variable(std::size_t i, const Tensor& whole, const Line& where) const {
  Variable part(own_part(whole, options_.group, where), where);
  part.cell()->set_partition(std::make_shared<const ShardPartition>(options_.group, whole_[i].cell->shape(), whole_[i].cell->partition()));
  return part;
}

bool Sharding::kept_whole(std::size_t i) const {
  return options_.stage < 3 || numel(whole_[i].cell->shape()) < std::max(options_.whole_below, std::int64_t{1});
}

std::vector<Tensor> Sharding::reduced(const std::vector<Tensor>& gradients, Reduction reduction, Line where) const {
  const In frame("data_parallel", where);
  const Group& group = options_.group;
  std::vector<Tensor> out(gradients.size()), rows(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (is_frozen(*whole_[i].cell)) out[i] = zeros(parts_[i].cell->shape(), gradients[i].dtype(), where);
    else if (kept_whole(i)) rows[i] = rows_of(gradients[i], group, where);
    else
      out[i] = reduction == Reduction::Mean ? Arg(gradients[i], where) / static_cast<double>(group.size())
                                            : gradients[i];  // summed by the gather's gradient
  }
  const auto exchange = [&](const Tensor& all) {
    const bool narrow = options_.exchange && (all.dtype() == f32 || all.dtype() == f64);
    return narrow ? cast(reduce_scatter_in_bf16(all, group, reduction, where), all.dtype())
                  : reduce_scatter(Arg(all, where), group, reduction);
  };
  const std::vector<Tensor> own = in_buckets(rows, options_.bucket_bytes, exchange, where);  // (1, k)
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].defined()) out[i] = flatten(Arg(own[i], where));
  }
  return out;
}

void Sharding::publish(Line where) const {
  const In frame("data_parallel", where);
  std::vector<Tensor> parts(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (kept_whole(i) && !is_frozen(*whole_[i].cell)) parts[i] = unsqueeze(Arg(parts_[i].read(where), where), 0);
  }
  const auto exchange = [&](const Tensor& own) { return all_gather(Arg(own, where), options_.group); };
  const std::vector<Tensor> rows = in_buckets(parts, options_.bucket_bytes, exchange, where);  // (n, k)
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].defined()) whole_[i].assign(from_rows(rows[i], whole_[i].cell->shape(), where), where);
  }
}

void Sharding::refresh(Line where) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (kept_whole(i) || !released_) parts_[i].assign(own_part(whole_[i].read(where), options_.group, where), where);
  }
}

Variable Sharding::part_of(std::size_t i, const Variable& whole, Line where) const {
  if (whole.shape() != whole_[i].cell->shape()) {
    throw Error({.op = "data_parallel",
                 .got = "state of shape " + to_string(whole.shape()) + " for " + whole_[i].name,
                 .expected = "its shape " + to_string(whole_[i].cell->shape()),
                 .where = where});
  }
  Variable part = own_variable(i, whole.read(where), where);
  part.cell()->settled();
  return part;
}

void Sharding::release() {
  if (std::exchange(released_, true)) return;
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    if (!kept_whole(i))
      whole_[i].cell->keep_at(std::make_unique<Gathered>(parts_[i].cell, whole_[i].cell->shape(), options_.group, options_.exchange));
  }
}

void Sharding::restore(Line where) {
  if (!std::exchange(released_, false)) return;
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    if (kept_whole(i)) continue;
    const Tensor value = whole_[i].read(where);
    eval(value);
    whole_[i].cell->keep_at(nullptr);
    whole_[i].assign(value, where);
  }
}

}  // namespace tegula::dist
