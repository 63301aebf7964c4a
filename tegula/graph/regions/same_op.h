#pragma once
// Results that are computed elsewhere.

#include "tegula/graph/node.h"

namespace tegula {

/// The first inputs, unchanged: as many as there are results. The others stand for what those were computed from. An op for gradients, of which
/// the compiler leaves nothing.
class SameOp : public LibraryOp {
 public:
  explicit SameOp(std::vector<DType> dtypes) : dtypes_(std::move(dtypes)) {}
  /// The op, if it is one.
  static const SameOp* of(const Op& op) { return op.role() == Role::Library ? dynamic_cast<const SameOp*>(&op) : nullptr; }

  void attributes(Attributes& a) override {
    const Signature* const node = a.made_for();
    if (!node) return;
    a.require(node->results.size() > 1 && node->results.size() <= node->inputs.size(), "in");
    for (std::size_t k = 0; k < node->results.size(); ++k) a.require(node->results[k] == node->inputs[k], "in");
    dtypes_.clear();
    for (const Result& input : node->inputs) dtypes_.push_back(input.dtype);
  }
  Numerics numerics() const override { return Numerics::Full; }
  bool accepts(const runtime::Device&, int, const Layout&) const override { return true; }
  DType input_dtype(int index, DType) const override { return dtypes_[static_cast<std::size_t>(index)]; }
  double operations(std::span<const Shape>, const Shape&) const override { return 0; }
  void reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const override {}

 private:
  std::vector<DType> dtypes_;  // of the inputs
};

/// How many of the first inputs no gradient goes to: what a checkpoint or a custom function computes inside.
inline std::size_t inside_inputs(const Node& node) {
  if (SameOp::of(node.op())) return node.results().size();
  return node.op().role() == Role::View && node.inputs().size() > 1 && !static_cast<const ViewOp&>(node.op()).waits() ? 1 : 0;
}

}  // namespace tegula
