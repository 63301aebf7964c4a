#include "tegula/dist/collectives/partition.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {

Shard shard_of(std::int64_t block, int rank, int ranks) {
  const std::int64_t most = (block + ranks - 1) / ranks, begin = std::min(block, rank * most);
  return {begin, std::min(block, begin + most) - begin};
}

std::int64_t joint_ranks(const Group& group, const Partition* within) {
  constexpr std::int64_t kGroups = 1 << 14;  // more than a program has
  return group.id() * kGroups + (within ? within->ranks() : 0);
}

AxisPartition::AxisPartition(Group group, const Shape& shape, int axis, std::int64_t blocks, Line where)
    : group_(std::move(group)),
      shape_(shape),
      axis_(axis),
      blocks_(blocks),
      block_(shape[axis] / blocks) {
  if (shape[axis] % blocks != 0 || shard_of(block_, group_.size() - 1, group_.size()).size == 0) {
    throw Error({.op = "tensor_parallel",
                 .got = "axis " + std::to_string(axis) + " of " + to_string(shape) + " in " + std::to_string(blocks) + " blocks for " +
                        std::to_string(group_.size()) + " ranks",
                 .expected = "equal blocks, and something of each for every rank",
                 .where = where});
  }
}

Shape AxisPartition::in_blocks(std::int64_t elements) const {
  std::int64_t front = 1, behind = 1;
  for (int i = 0; i < shape_.rank(); ++i) (i < axis_ ? front : behind) *= i == axis_ ? 1 : shape_[i];
  return {front, blocks_, elements, behind};
}

Tensor AxisPartition::part(const Tensor& whole, const Line& where) const {
  const In frame("tensor_parallel", where);
  const Shard own = shard_of(block_, group_.rank(), group_.size());
  Shape shape = shape_;
  shape[axis_] = blocks_ * own.size;
  return reshape(slice(reshape(whole, in_blocks(block_)), 2, {own.begin, own.begin + own.size}), shape);
}

Tensor AxisPartition::whole(const Tensor& part, const Line& where) const {
  const In frame("tensor_parallel", where);
  const std::int64_t size = part.shape()[axis_] / blocks_, most = shard_of(block_, 0, group_.size()).size;
  Tensor own = reshape(part, in_blocks(size));
  if (size < most) own = pad(own, {{}, {}, {0, most - size}, {}});
  const Tensor all = permute(all_gather(unsqueeze(own, 0), group_), {1, 2, 0, 3, 4});  // (front, blocks, ranks, most, behind)
  return reshape(slice(reshape(all, in_blocks(most * group_.size())), 2, {0, block_}), shape_);
}

Tensor AxisPartition::sum(const Tensor& x, const Line& where) const { return all_reduce(Arg(x, where), group_); }

NestedPartition::NestedPartition(Group group, Shape shape, std::shared_ptr<const Partition> within)
    : group_(std::move(group)),
      shape_(std::move(shape)),
      within_(std::move(within)) {}

Tensor NestedPartition::sum(const Tensor& x, const Line& where) const {
  const Tensor all = all_reduce(Arg(x, where), group_);
  return within_ ? within_->sum(all, where) : all;
}

}  // namespace tegula::dist
