#include "tegula/dist/parallel/residuals.h"

#include "tegula/core/error.h"
#include "tegula/dist/collectives/buckets.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/collectives/narrow_exchange.h"
#include "tegula/dist/collectives/partition.h"
#include "tegula/dist/collectives/rows.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {
namespace {

/// A tensor that is the sum of the ranks' parts. `within`: the partition of each summand among the ranks of another group, or null.
class Summed final : public NestedPartition {
 public:
  using NestedPartition::NestedPartition;
  Tensor whole(const Tensor& part, const Line& where) const override {
    return whole_of_within(all_reduce(Arg(part, where), group_), where);
  }
  Tensor part(const Tensor& whole, const Line& where) const override {
    return group_.rank() > 0 ? zeros(shape_, whole.dtype(), where) : part_of_within(whole, where);
  }
};

}  // namespace

Residuals::Residuals(const Parameters& trained, const Group& group, Line where) : group_(group) {
  for (const Parameter& parameter : trained) {
    const Shape& shape = parameter.cell->shape();
    cells_.push_back({"exchange." + parameter.name, make<Cell>(zeros(shape, f32, where), where)});
    cells_.back().cell->set_partition(std::make_shared<Summed>(group, shape, parameter.cell->partition()));
  }
}

std::vector<Tensor> Residuals::exchanged(const std::vector<Tensor>& gradients, std::int64_t bucket_bytes, const Way& way,
                                         Line where) const {
  if (gradients.size() != cells_.size()) {
    throw Error({.op = "data_parallel",
                 .got = std::to_string(gradients.size()) + " gradients",
                 .expected = "those of the " + std::to_string(cells_.size()) + " parameters, in their order",
                 .where = where});
  }
  std::vector<Tensor> sent(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const Parameter& cell = cells_[i];
    if (gradients[i].shape() != cell.cell->shape()) {
      throw Error({.op = "data_parallel",
                   .got = "a gradient of shape " + to_string(gradients[i].shape()) + " for " + cell.name,
                   .expected = to_string(cell.cell->shape()),
                   .where = where});
    }
    sent[i] = way.sent(cast(Arg(gradients[i], where), f32) + cell.read(where));
  }
  const auto exchange = [&](const Tensor& all) -> std::vector<Tensor> {
    const Fp8Sum sum = way.exchange(all);
    return {sum.sum, sum.left};
  };
  const auto results = several_in_buckets(sent, bucket_bytes, exchange, where);
  std::vector<Tensor> out(gradients.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!gradients[i].defined()) continue;
    out[i] = cast(Arg(results[i][0], where), gradients[i].dtype());
    cells_[i].assign(way.whole(results[i][1], gradients[i].shape()), where);
  }
  return out;
}

std::vector<Tensor> Residuals::sum(const std::vector<Tensor>& gradients, std::int64_t bucket_bytes, Line where) const {
  const Way flat{.sent = [&](const Tensor& whole) { return flatten(Arg(whole, where)); },
                 .exchange = [&](const Tensor& sent) { return all_reduce_in_fp8(sent, group_, where); },
                 .whole = [&](const Tensor& sent, const Shape& shape) { return reshape(Arg(sent, where), shape); }};
  std::vector<Tensor> out = exchanged(gradients, bucket_bytes, flat, where);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].defined()) out[i] = flat.whole(out[i], gradients[i].shape());
  }
  return out;
}

std::vector<Tensor> Residuals::parts_of_sum(const std::vector<Tensor>& gradients, std::int64_t bucket_bytes, Line where) const {
  const Way rows{.sent = [&](const Tensor& whole) { return rows_of(whole, group_, where); },
                 .exchange = [&](const Tensor& sent) { return reduce_scatter_in_fp8(sent, group_, where); },
                 .whole = [&](const Tensor& sent, const Shape& shape) { return from_rows(sent, shape, where); }};
  std::vector<Tensor> out = exchanged(gradients, bucket_bytes, rows, where);
  for (Tensor& part : out) {
    if (part.defined()) part = flatten(Arg(part, where));
  }
  return out;
}

}  // namespace tegula::dist
