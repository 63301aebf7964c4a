#pragma once
// Writes down the body of a loop, once for all of its steps. Used by scan and its gradient.

#include <optional>

#include "tegula/graph/regions/loop_op.h"
#include "tegula/graph/trace.h"

namespace tegula::ops {

/// From construction to finish() this thread writes down a body: nodes have no values, Variables read are stand-ins.
class LoopBuilder {
 public:
  /// `length`: at least 1.
  LoopBuilder(std::int64_t length, bool reverse, const Line& where);

  /// The stand-in for a carried value, for this step's slice of a stack, and for a value that is the same in all steps. Other tensors may be
  /// used as they are.
  Tensor carry(const Tensor& start);
  Tensor slice(const Tensor& stack);
  Tensor same(const Tensor& value);
  /// From here on a node of the body stands for this step's slice of a stack.
  void take_slice(const Tensor& inside, const Tensor& stack);
  /// The stack whose slice it is, or none.
  Tensor stack_of(const Tensor& inside) const;
  /// True if the body has assigned a Variable so far.
  bool assigns() const;
  /// True if the value differs from step to step, as far as its ops tell.
  bool varies(const Tensor& x) const;

  struct Results {
    std::vector<Tensor> last, stacks;
  };
  /// Ends the body: `next` of each carried value, and the stacked values. Variables that were assigned have their last values.
  Results finish(std::vector<Tensor> next, const std::vector<Tensor>& stacked);

 private:
  Tensor stand_in(const Tensor& like);

  std::int64_t length_;
  bool reverse_;
  Line where_;
  std::optional<Trace> trace_;
  std::vector<Region::StandIn> carries_, slices_, same_;
};

}  // namespace tegula::ops
