#pragma once
// The specification of a graph, executable: every node in f64, from the formula or the naive loops its op declares. Slow on purpose.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// The elements of y, row-major. Leaves give their values; evaluated nodes are computed again where their inputs are still known.
std::vector<double> reference_of(const Tensor& y);

/// The interpreter behind it, for graphs that grow: each node is computed once, and a leaf without a value can be given one.
///
/// With `noise` (any number but 0; each gives other noise) it measures how well conditioned a graph is: every value that its dtype may round is moved by up to
/// one unit in the last place, and so is each term of a sum. If results of several noises differ, rounding may make that
/// difference. Ops that select (maximum, sort, gather), integers and booleans are exact, so ties stay ties; equal numbers get equal noise.
/// A value that a node's Precision may store as a half, and the operands of its products, have a half's noise unless they are numbers of that half.
class Reference {
 public:
  using Values = std::vector<double>;
  explicit Reference(std::uint64_t noise = 0) : noise_(noise) {}
  void define(const Tensor& leaf, Values values);
  const Values& of(const Tensor& y);

 private:
  const Values& input(const Node& node, std::size_t i) const { return known_.at(node.inputs()[i]); }
  Values compute(const Node& node) const;
  Values elementwise(const Node& node) const;
  Values view(const Node& node) const;
  Values reduce(const Node& node) const;
  template <class O>
  Values loops(const Node& node, const O& op, bool sums) const;
  std::vector<Values> several(const Node& node) const;
  double rounded(double value, DType dtype, std::uint64_t place = 0) const;
  double rounded(double value, DType dtype, std::uint64_t place, double scale) const;
  double of_sum(double term, DType dtype, std::uint64_t place, double terms) const;
  double as_half(double value, DType half) const;

  struct Hash {
    std::size_t operator()(const Ref<Node>& node) const { return std::hash<const Node*>()(node.get()); }
  };
  std::uint64_t noise_;
  std::unordered_map<Ref<Node>, Values, Hash> known_;
  std::unordered_map<Ref<Node>, std::vector<Values>, Hash> results_;  // of nodes with several; known_ has no entry for these
};

}  // namespace tegula
