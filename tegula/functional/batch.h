#pragma once
// A piece of graph that was written for one example, made anew for many: each value gets one more axis, in front.

#include <span>
#include <unordered_map>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula::functional {

/// A value of the graph for all examples: the same tensor as for one, or one with the examples along axis 0.
struct Mapped {
  Tensor value;
  bool varies = false;
};

class Batch {
 public:
  /// `count`: of examples. `loops`: an op without a rule becomes a scan over the examples; otherwise an Error.
  Batch(std::int64_t count, bool loops, const Line& where) : count_(count), loops_(loops), where_(where) {}

  /// The value that stands in the place of this node, which has none.
  void set(const Tensor& stand_in, Mapped value);
  struct StandIn {
    Tensor inside;
    Mapped outside;
  };
  const std::vector<StandIn>& stand_ins() const { return stand_ins_; }
  /// The mapped values of these, which were made after the stand-ins.
  std::vector<Mapped> values(std::span<const Tensor> results);
  /// The value of a node that has been seen; any other node is the same for all.
  Mapped value(const Ref<Node>& node) const;
  /// The same with the examples along axis 0, whether it varies or not.
  Tensor spread(const Mapped& x) const;

  std::int64_t count() const { return count_; }
  bool loops() const { return loops_; }
  const Line& where() const { return where_; }
  /// This shape with an axis of examples in front; throws Error in the name of `op` if it would have too many axes.
  Shape with_examples(const Shape& shape, const Node& node) const;

 private:
  std::vector<Mapped> made_anew(const Node& node);
  Tensor copy_over(const Node& node) const;

  std::int64_t count_;
  bool loops_;
  Line where_;
  std::uint64_t oldest_ = ~std::uint64_t{0};  // stand-in, by sequence number
  std::unordered_map<const Node*, std::vector<Mapped>> values_;  // by node: values that depend on a stand-in
  std::vector<StandIn> stand_ins_;
  std::vector<Ref<Node>> held_;  // the other keys of values_
};

}  // namespace tegula::functional
