#include "tegula/nn/normalization.h"

#include <limits>

#include "tegula/core/error.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/parallel/counted_rows.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/nn/checks.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/rows/normalization.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn {
namespace {

constexpr std::string_view kBatchNorm[] = {"BatchNorm1d", "BatchNorm2d", "BatchNorm3d"};
constexpr std::string_view kInstanceNorm[] = {"InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"};

Tensor value_or_empty(const Variable& variable) { return variable.defined() ? variable.read() : Tensor(); }

// (N, C, spatial…), or where `also_flat` (N, C).
void require_rank(std::string_view layer, const Tensor& x, int axes, bool also_flat, const Line& where) {
  const int rank = x.shape(where).rank();
  if (rank == axes + 2 || (also_flat && rank == 2)) return;
  throw Error({.op = std::string(layer),
               .got = "an input of shape " + to_string(x.shape()),
               .expected = std::string(also_flat ? "2 or " : "") + std::to_string(axes + 2) + " axes (N, C, spatial…)",
               .where = origin_at(where).where});
}

void require_sizes(std::string_view layer, const Shape& shape, const Line& where) {
  if (shape.empty()) {
    throw Error(
        {.op = std::string(layer), .got = "an empty normalized_shape", .expected = "at least one axis", .where = origin_at(where).where});
  }
  for (auto size : shape) require_positive(layer, {{"a size of normalized_shape", size}}, where);
}

/// Each rank's count, mean and variance go to all, which combine them in one order (Chan, Golub and LeVeque, 1979). The gradient is that of the gather.
BatchNormResult batch_norm_over(const dist::Group& group, const Tensor& given, const NormOptions& options, const Line& where) {
  const In frame("batch_norm", where);
  const Tensor x = given.dtype() == f64 ? given : cast(given, f32);
  Dims axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis != 1) axes.push_back(axis);
  }
  const std::int64_t channels = x.shape()[1];
  const Tensor own_mean = mean(x, axes);  // (C)
  const Tensor away = x - mean(x, axes, Keep::Yes);
  Tensor count = full({channels}, static_cast<double>(x.numel() / channels), x.dtype());
  if (const Tensor share = dist::CountedRows::share(); share.defined()) count = count * cast(share > 0, x.dtype());
  const Tensor own = stack({own_mean, mean(away * away, axes), count}, 0);
  const Tensor all = dist::all_gather(unsqueeze(own, 0), group);  // (ranks, 3, C)
  const Tensor means = select(all, 1, 0), variances = select(all, 1, 1), counts = stop_gradient(select(all, 1, 2));  // (ranks, C)
  const Tensor counted =
      ops::check_range("batch_norm", cast(sum(counts, {0}), i64), 2, std::numeric_limits<std::int64_t>::max(),
                       "%d value for each channel on all ranks together, expected more than one value for each channel while training",
                       where, "give a step more rows, or drop a last batch that is too short (data::LoaderOptions::last)");
  const Tensor rows = cast(counted, x.dtype()), share = counts / rows;
  const Tensor center = sum(share * means, {0});
  const Tensor off = means - center;
  const Tensor variance = sum(share * (variances + off * off), {0});
  return {batch_norm(given, center, variance, options), stop_gradient(center), stop_gradient(variance * (rows / (rows - 1.0)))};
}

}  // namespace

template <int Axes>
BatchNorm<Axes>::BatchNorm(std::int64_t num_features, const BatchNormOptions& options, Line where)
    : eps_(options.eps),
      momentum_(options.momentum),
      layout_(options.layout) {
  constexpr std::string_view name = kBatchNorm[Axes - 1];
  In frame(name, where);
  require_positive(name, {{"num_features", num_features}}, where);
  const DType statistics = options.dtype == f64 ? f64 : f32;  // halves would lose the small updates
  if (options.affine) {
    weight = ones({num_features}, options.dtype, where);
    bias = zeros({num_features}, options.dtype, where);
  }
  if (options.track_running_stats) {
    running_mean = zeros({num_features}, statistics, where);
    running_var = ones({num_features}, statistics, where);
    num_batches_tracked = zeros({}, i64, where);
  }
}

template <int Axes>
Tensor BatchNorm<Axes>::operator()(Arg x) {
  constexpr std::string_view name = kBatchNorm[Axes - 1];
  In frame(name, x.loc);
  const Tensor given = x.tensor(name);
  require_rank(name, given, Axes, Axes == 1, x.loc);
  const AxisOrder order = given.rank() > 2 ? layout_ : Layout::NCHW;  // (N, C) is the same in both
  const Tensor input = ops::channels_first(given, Axes, order, x.loc);
  const std::int64_t features = weight.defined() ? weight.shape()[0] : running_mean.defined() ? running_mean.shape()[0] : input.shape()[1];
  require_features(name, input, 1, features, "channels", x.loc);
  const NormOptions options{.weight = value_or_empty(weight), .bias = value_or_empty(bias), .eps = eps_};
  const bool learns = training && !frozen;
  if (!learns && running_mean.defined()) return ops::channels_as(batch_norm(input, running_mean, running_var, options), Axes, order, x.loc);
  const bool of_all = training && group.size() > 1;
  const BatchNormResult result = of_all ? batch_norm_over(group, input, options, x.loc) : batch_norm_training(input, options);
  if (learns && running_mean.defined()) {
    num_batches_tracked = num_batches_tracked + 1;
    const Arg share = momentum_ ? Arg(*momentum_) : Arg(1.0 / cast(num_batches_tracked, running_mean.dtype()));
    running_mean = lerp(running_mean, result.mean, share);
    running_var = lerp(running_var, result.variance, share);
  }
  return ops::channels_as(result.y, Axes, order, x.loc);
}

template <int Axes>
void BatchNorm<Axes>::visit(Visitor& visitor, const Path& path) {
  visit_fields(visitor, path, {{"weight", &weight}, {"bias", &bias}});
  nn::visit(running_mean, visitor, Path{&path, "running_mean"});
  nn::visit(running_var, visitor, Path{&path, "running_var"});
  nn::visit(num_batches_tracked, visitor, Path{&path, "num_batches_tracked"});
  visitor.flag(Path{&path, "training"}, training);
  visitor.flag(Path{&path, "frozen"}, frozen);
  visitor.statistics(path, group);
}

int sync_batch_norm(const AnyModule& module, const dist::Group& group) {
  class Setter final : public Visitor {
   public:
    explicit Setter(const dist::Group& ranks) : ranks_(ranks) {}
    void statistics(const Path&, dist::Group& of) override { of = ranks_, ++found; }
    int found = 0;

   private:
    const dist::Group& ranks_;
  } setter(group);
  module.visit(setter);
  return setter.found;
}

LayerNorm::LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options, Line where)
    : shape_(normalized_shape),
      eps_(options.eps) {
  In frame("LayerNorm", where);
  require_sizes("LayerNorm", shape_, where);
  if (options.elementwise_affine) weight = ones(shape_, options.dtype, where);
  if (options.elementwise_affine && options.bias) bias = zeros(shape_, options.dtype, where);
}

Tensor LayerNorm::operator()(Arg x) const {
  In frame("LayerNorm", x.loc);
  const Tensor input = split.enter(x.tensor("LayerNorm"), x.loc);
  const NormOptions options{.weight = split.shared(weight, x.loc), .bias = split.shared(bias, x.loc), .eps = eps_};
  return split.leave(layer_norm(input, shape_, options), x.loc);
}

void LayerNorm::visit(Visitor& visitor, const Path& path) {
  visitor.split(path, split, {{&weight}, {&bias}});
  visit_fields(visitor, path, {{"weight", &weight}, {"bias", &bias}});
}

RMSNorm::RMSNorm(const Shape& normalized_shape, const RMSNormOptions& options, Line where) : shape_(normalized_shape), eps_(options.eps) {
  In frame("RMSNorm", where);
  require_sizes("RMSNorm", shape_, where);
  if (options.elementwise_affine) weight = ones(shape_, options.dtype, where);
}

Tensor RMSNorm::operator()(Arg x) const {
  In frame("RMSNorm", x.loc);
  const Tensor input = split.enter(x.tensor("RMSNorm"), x.loc);
  return split.leave(rms_norm(input, shape_, {.weight = split.shared(weight, x.loc), .eps = eps_}), x.loc);
}

void RMSNorm::visit(Visitor& visitor, const Path& path) {
  visitor.split(path, split, {{&weight}});
  visit_fields(visitor, path, {{"weight", &weight}});
}

GroupNorm::GroupNorm(std::int64_t num_groups, std::int64_t num_channels, const GroupNormOptions& options, Line where)
    : groups_(num_groups),
      eps_(options.eps),
      layout_(options.layout) {
  In frame("GroupNorm", where);
  require_positive("GroupNorm", {{"num_groups", num_groups}, {"num_channels", num_channels}}, where);
  if (num_channels % num_groups != 0) {
    throw Error({.op = "GroupNorm",
                 .got = std::to_string(num_channels) + " channels in " + std::to_string(num_groups) + " groups",
                 .expected = "groups of equal size",
                 .where = origin_at(where).where});
  }
  if (options.affine) {
    weight = ones({num_channels}, options.dtype, where);
    bias = zeros({num_channels}, options.dtype, where);
  }
}

Tensor GroupNorm::operator()(Arg x) const {
  In frame("GroupNorm", x.loc);
  const Tensor given = x.tensor("GroupNorm");
  const int axes = given.rank() - 2;
  const Tensor y = group_norm(Arg(ops::channels_first(given, axes, layout_, x.loc), x.loc), groups_,
                              {.weight = value_or_empty(weight), .bias = value_or_empty(bias), .eps = eps_});
  return ops::channels_as(y, axes, layout_, x.loc);
}

void GroupNorm::visit(Visitor& visitor, const Path& path) { visit_fields(visitor, path, {{"weight", &weight}, {"bias", &bias}}); }

template <int Axes>
InstanceNorm<Axes>::InstanceNorm(std::int64_t num_features, const InstanceNormOptions& options, Line where)
    : features_(num_features),
      eps_(options.eps),
      layout_(options.layout) {
  constexpr std::string_view name = kInstanceNorm[Axes - 1];
  In frame(name, where);
  require_positive(name, {{"num_features", num_features}}, where);
  if (options.affine) {
    weight = ones({num_features}, options.dtype, where);
    bias = zeros({num_features}, options.dtype, where);
  }
}

template <int Axes>
Tensor InstanceNorm<Axes>::operator()(Arg x) const {
  constexpr std::string_view name = kInstanceNorm[Axes - 1];
  In frame(name, x.loc);
  const Tensor given = x.tensor(name);
  require_rank(name, given, Axes, false, x.loc);
  const Tensor input = ops::channels_first(given, Axes, layout_, x.loc);
  require_features(name, input, 1, features_, "channels", x.loc);
  return ops::channels_as(instance_norm(input, {.weight = value_or_empty(weight), .bias = value_or_empty(bias), .eps = eps_}), Axes,
                          layout_, x.loc);
}

template <int Axes>
void InstanceNorm<Axes>::visit(Visitor& visitor, const Path& path) {
  visit_fields(visitor, path, {{"weight", &weight}, {"bias", &bias}});
}

Tensor LocalResponseNorm::operator()(Arg x) const {
  In frame("LocalResponseNorm", x.loc);
  const Tensor given = x.tensor("LocalResponseNorm");
  const int axes = given.rank() - 2;
  const Tensor y = local_response_norm(Arg(ops::channels_first(given, axes, layout, x.loc), x.loc),
                                       {.size = size, .alpha = alpha, .beta = beta, .k = k});
  return ops::channels_as(y, axes, layout, x.loc);
}

template class BatchNorm<1>;
template class BatchNorm<2>;
template class BatchNorm<3>;
template class InstanceNorm<1>;
template class InstanceNorm<2>;
template class InstanceNorm<3>;

}  // namespace tegula::nn
