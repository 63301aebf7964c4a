#pragma once
// A Variable of which every rank of a group has a part along one axis.

#include <memory>

#include "tegula/dist/exchange/group.h"
#include "tegula/graph/variable.h"

namespace tegula::dist {

/// The share of one rank of n in an axis: elements begin … begin + size - 1 of each of `blocks` equal blocks. Shards have ceil(block / n) elements, the last
/// one the rest.
struct Shard {
  std::int64_t begin = 0, size = 0;
};
Shard shard_of(std::int64_t block, int rank, int ranks);

/// Names the ranks of a partition over `group` of a tensor that `within` partitions, or that is whole (null): Partition::ranks of ranks within ranks.
std::int64_t joint_ranks(const Group& group, const Partition* within);

class AxisPartition final : public Partition {
 public:
  /// The partition of a tensor of this shape. Throws Error unless the blocks are equal and every rank gets something.
  AxisPartition(Group group, const Shape& shape, int axis, std::int64_t blocks = 1, Line where = Line::current());

  const Shape& shape() const override { return shape_; }
  Tensor whole(const Tensor& part, const Line& where) const override;
  Tensor part(const Tensor& whole, const Line& where) const override;
  Tensor sum(const Tensor& x, const Line& where) const override;
  std::int64_t ranks() const override { return group_.id(); }
  bool writes() const override { return group_.rank() == 0; }

  const Group& group() const { return group_; }
  /// True if all parts have the same size.
  bool even() const { return block_ % group_.size() == 0; }

 private:
  /// The shape with the axis as three: the axes before it with the blocks, the elements of a block, the axes after it.
  Shape in_blocks(std::int64_t elements) const;

  Group group_;
  Shape shape_;
  int axis_;
  std::int64_t blocks_, block_;
};

/// Ranks of `group` partition a tensor that is whole for them, or that ranks of another group partition by `within` (null: none). Derived classes say how.
class NestedPartition : public Partition {
 public:
  /// `shape` is that of the tensor that the group partitions.
  NestedPartition(Group group, Shape shape, std::shared_ptr<const Partition> within);
  const Shape& shape() const override { return within_ ? within_->shape() : shape_; }
  /// Over the group first.
  Tensor sum(const Tensor& x, const Line& where) const override;
  std::int64_t ranks() const override { return joint_ranks(group_, within_.get()); }
  bool writes() const override { return group_.rank() == 0 && (!within_ || within_->writes()); }

 protected:
  Tensor whole_of_within(const Tensor& part, const Line& where) const { return within_ ? within_->whole(part, where) : part; }
  Tensor part_of_within(const Tensor& whole, const Line& where) const { return within_ ? within_->part(whole, where) : whole; }

  Group group_;
  Shape shape_;
  std::shared_ptr<const Partition> within_;
};

}  // namespace tegula::dist
