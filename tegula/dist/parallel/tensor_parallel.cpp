#include "tegula/dist/parallel/tensor_parallel.h"

#include "tegula/core/error.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/collectives/partition.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/embedding.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {
namespace {

Tensor own_part(const Tensor& x, const Group& group, int axis, const Line& where) {
  const std::int64_t size = x.shape()[axis] / group.size(), begin = size * group.rank();
  return slice(Arg(x, where), axis, {begin, begin + size});
}

/// forward(x), whose gradient is backward(dy).
template <class Forward, class Backward>
Tensor conjugate(std::string_view name, const Arg& x, const Forward& forward, const Backward& backward) {
  const In frame(name, x.loc);
  return custom_function(
      std::string(name), [&](const std::vector<Tensor>& inputs) { return forward(inputs[0]); },
      [backward](const std::vector<Tensor>&, const Tensor&, const Tensor& dy) { return std::vector<Tensor>{backward(dy)}; },
      {x.tensor(name)}, x.loc);
}

/// Exchanges the activation between the matmuls of a split layer in the half of the policy (`stored`), as the matmuls return it; Megatron-LM does so. The dtype is
/// set here, not by a pass: all ranks must have the same.
template <class Exchange>
Tensor travels(const Tensor& x, DType stored, const Line& where, const Exchange& exchange) {
  if (x.dtype() != f32 || !is_half(stored)) return exchange(Arg(x, where));
  return cast(exchange(Arg(cast(Arg(x, where), stored), where)), f32);
}
DType stored_now() { return storage_of(current_precision()); }

Tensor copied(const Arg& x, const Group& group, DType stored) {
  const auto where = x.loc;
  return conjugate(
      "copy_to_ranks", x, [&](const Tensor& t) { return t; },
      [group, where, stored](const Tensor& dy) {
        return travels(dy, stored, where, [&](Arg y) { return all_reduce(y, group, Reduction::Sum, Turn::AmongLayers); });
      });
}

Tensor reduced(const Arg& x, const Group& group, DType stored) {
  return conjugate(
      "reduce_from_ranks", x,
      [&](const Tensor& t) {
        return travels(t, stored, x.loc, [&](Arg y) { return all_reduce(y, group, Reduction::Sum, Turn::AmongLayers); });
      },
      [](const Tensor& dy) { return dy; });
}

}  // namespace

Tensor copy_to_ranks(Arg x, const Group& group) { return copied(x, group, f32); }
Tensor reduce_from_ranks(Arg x, const Group& group) { return reduced(x, group, f32); }

Tensor scatter_to_ranks(Arg x, const Group& group, int axis) {
  const auto where = x.loc;
  const Tensor from = x.tensor("scatter_to_ranks");
  const int at = ops::axis_of("scatter_to_ranks", axis, from.shape(), where);
  if (from.shape()[at] % group.size() != 0) {
    ops::refuse("scatter_to_ranks", "shape " + to_string(from.shape()) + " for " + std::to_string(group.size()) + " ranks",
                "axis " + std::to_string(at) + " to have as many elements for each rank", where);
  }
  return conjugate(
      "scatter_to_ranks", x, [&](const Tensor& t) { return own_part(t, group, at, where); },
      [group, at, where](const Tensor& dy) { return all_gather(Arg(dy, where), group, at); });
}

Tensor gather_from_ranks(Arg x, const Group& group, int axis, std::optional<std::int64_t> size) {
  const auto where = x.loc;
  const Tensor from = x.tensor("gather_from_ranks");
  const int at = ops::axis_of("gather_from_ranks", axis, from.shape(), where);
  const std::int64_t most = size ? shard_of(*size, 0, group.size()).size : from.shape()[at];
  std::vector<PadWidth> missing(static_cast<std::size_t>(from.rank()));
  missing[static_cast<std::size_t>(at)].high = most - from.shape()[at];
  const Tensor all = conjugate(
      "gather_from_ranks", Arg(most == from.shape()[at] ? from : pad(Arg(from, where), missing), where),
      [&](const Tensor& t) { return all_gather(Arg(t, where), group, at); },
      [group, at, where](const Tensor& dy) { return own_part(dy, group, at, where); });
  return size ? slice(Arg(all, where), at, {0, *size}) : all;
}

// The gradients of all_gather and reduce_scatter as they are, sums over the ranks, are right if each rank goes on by itself with its result.
Tensor Split::enter(const Tensor& x, const Line& where) const {
  const Arg arg(x, where);
  switch (style) {
    case Style::None: return x;
    case Style::Columns:
      if (input == Placement::Replicated) return copied(arg, group, stored_now());
      return travels(x, stored_now(), where,
                     [&](Arg y) { return all_gather(y, group, input == Placement::Sequence ? step_axis : -1, Turn::AmongLayers); });
    case Style::Rows: return input == Placement::Replicated ? scatter_to_ranks(arg, group) : x;
    case Style::Steps: return input == Placement::Replicated ? scatter_to_ranks(arg, group, step_axis) : x;
  }
  return x;
}

Tensor Split::leave(const Tensor& y, const Line& where) const {
  const Arg arg(y, where);
  switch (style) {
    case Style::None: return y;
    case Style::Columns: return output == Placement::Replicated ? gather_from_ranks(arg, group, -1, size) : y;
    case Style::Rows:
      if (output == Placement::Replicated) return reduced(arg, group, stored_now());
      return travels(y, stored_now(), where, [&](Arg part) {
        return reduce_scatter(part, group, Reduction::Sum, output == Placement::Sequence ? step_axis : -1, Turn::AmongLayers);
      });
    case Style::Steps: return output == Placement::Replicated ? gather_from_ranks(arg, group, step_axis) : y;
  }
  return y;
}

Tensor Split::shared(const Variable& parameter, const Line& where) const {
  if (!parameter.defined()) return {};
  const Tensor value = parameter.read(where);
  const bool differ = is(Style::Steps) || (is(Style::Rows) && output == Placement::Sequence);
  return differ ? copy_to_ranks(Arg(value, where), group) : value;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Variable& bias, const Split& split, const Line& where) {
  const Tensor added = split.shared(bias, where);
  if (split.is(Split::Style::Rows)) {
    const Tensor y = split.leave(linear(Arg(x, where), weight), where);
    return added.defined() ? Arg(y, where) + added : y;
  }
  return split.leave(added.defined() ? linear(Arg(x, where), weight, added) : linear(Arg(x, where), weight), where);
}

Tensor embedding(const Tensor& indices, const Tensor& part, std::optional<std::int64_t> padding, const Split& split, const Line& where) {
  const In frame("embedding", where);
  const auto look_up = [&](const Tensor& at, std::optional<std::int64_t> row) {
    return row ? embedding(at, part, *row) : embedding(at, part);
  };
  if (!split.is(Split::Style::Rows)) return split.leave(look_up(indices, padding), where);
  if (!is_integer(indices.dtype())) ops::refuse("embedding", "indices of dtype " + std::string(name(indices.dtype())), "integers", where);
  Tensor at = graph::cast(indices, i64, where);
  at = ops::check_labels("embedding", at, at, {split.size, {}}, where);
  const Shard own = shard_of(split.size, split.group.rank(), split.group.size());
  const Tensor local = at - own.begin, here = local >= 0 && local < own.size;
  if (padding) *padding -= own.begin;
  if (padding && (*padding < 0 || *padding >= own.size)) padding.reset();
  return split.leave(tegula::where(unsqueeze(here, -1), look_up(tegula::where(here, local, 0), padding), 0.0), where);
}

Tensor cross_entropy(Arg logits, Arg labels, const VocabularyCrossEntropyOptions& options) {
  const In frame("cross_entropy", logits.loc);
  const auto& at = logits.loc;
  const Tensor given = ops::float_tensor("cross_entropy", logits);
  const Group& group = options.group;
  const std::int64_t own = given.rank() < 2 ? 0 : given.shape()[1], classes = options.classes > 0 ? options.classes : own * group.size();
  const Shard shard = shard_of(classes, group.rank(), group.size());
  const Tensor target = labels.tensor("cross_entropy");
  Shape expected = given.shape();
  if (given.rank() >= 2) expected.erase(1);
  if (given.rank() < 2 || shard.size != own || !is_integer(target.dtype()) || target.shape() != expected) {
    ops::refuse("cross_entropy",
                "scores " + to_string(given.shape()) + " on rank " + std::to_string(group.rank()) + " of " + std::to_string(group.size()) +
                    " and labels " + std::string(name(target.dtype())) + to_string(target.shape()),
                "of " + std::to_string(classes) + " classes " + std::to_string(shard.size) +
                    " along axis 1, and integers for labels, of the shape of the scores without that axis",
                at, "a number of classes that the ranks do not divide has to be given: .classes");
  }
  const Tensor scores = ops::widen(given), numbers = graph::cast(target, i64, at);
  const Tensor largest = all_reduce(max(stop_gradient(scores), 1), group, Reduction::Max);
  const Tensor x = scores - unsqueeze(largest, 1);
  const Tensor mask = ops::one_hot_mask(numbers - shard.begin, x.shape(), at);
  // One exchange for the sums over all classes.
  std::vector<Tensor> sums{sum(exp(x), 1), sum(where(mask, x, 0.0), 1)};
  if (options.label_smoothing > 0) sums.push_back(sum(x, 1));
  const auto all = unbind(reduce_from_ranks(stack(sums, 0, at), group));
  const Tensor log_sum = log(all[0]);
  Tensor losses = log_sum - all[1];
  if (options.label_smoothing > 0) {
    const Tensor even = log_sum - all[2] / static_cast<double>(classes);
    losses = losses * (1 - options.label_smoothing) + even * options.label_smoothing;
  }
  Tensor counted;
  if (options.ignore_index) {
    counted = numbers != *options.ignore_index;
    losses = where(counted, losses, 0.0);
  }
  losses = ops::check_labels("cross_entropy", losses, numbers, {classes, options.ignore_index}, at);
  if (options.reduction == LossReduction::None) return ops::narrow(losses, given.dtype());
  const Tensor total = sum(losses);
  if (options.reduction == LossReduction::Sum) return ops::narrow(total, given.dtype());
  return ops::narrow(counted.defined() ? total / sum(graph::cast(counted, losses.dtype(), at)) : mean(losses), given.dtype());
}

}  // namespace tegula::dist
