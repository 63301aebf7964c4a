#pragma once
// A piece of graph that is written once and stands for many: the body of a loop. Nothing in it has a value.

#include <functional>
#include <unordered_map>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// A subgraph with its own nodes between parameters (leaves without values) and results. The op that runs it maps the parameters to nodes of the graph around it.
class Region final : public Shared {
 public:
  /// A node that was used while the body was written down, and the node outside that it replaces.
  struct StandIn {
    Ref<Node> inside, outside;
  };
  struct Closed {
    Ref<const Region> region;
    std::vector<StandIn> parameters;  // one for each
  };
  /// The body below `results`, copied, with a parameter in the place of each stand-in. The first `kept` stand-ins are parameters 0, 1, …; the
  /// others become parameters if something reads them. A value that depends on no stand-in is computed once, outside, and is a parameter, too: scalars,
  /// tensors, and anything computed from those alone. Views and index patterns among them stay inside unless they are older than the stand-ins.
  /// With `open`, the values worth keeping for a gradient are added to the results, after the requested ones: the first `kept` parameters, and the
  /// results of calls, kernels and reductions.
  static Closed close(std::span<const Tensor> results, std::span<const StandIn> stand_ins, std::size_t kept, bool open);

  /// A region of these nodes, which nothing else holds: in program order, above the parameters, without values.
  static Ref<const Region> of(std::vector<Ref<Node>> parameters, std::vector<Ref<Node>> nodes, std::vector<Ref<Node>> results);

  const std::vector<Ref<Node>>& parameters() const { return parameters_; }
  const std::vector<Ref<Node>>& results() const { return results_; }
  /// The nodes in program order, without the parameters.
  const std::vector<Ref<Node>>& nodes() const { return nodes_; }
  /// Equal for two regions exactly when they compute the same.
  const Words& key() const { return key_; }
  bool has_check() const { return has_check_; }

  using Copies = std::unordered_map<const Node*, Tensor>;
  /// Other results for a node with several, given its inputs; none: the node is copied unchanged.
  using Instead = std::function<std::vector<Tensor>(const Node&, std::span<const Tensor>)>;
  /// The body over other values of the parameters: what became of each node.
  Copies copy(std::span<const Tensor> parameters, const Instead& instead = {}) const;

 private:
  void describe();

  std::vector<Ref<Node>> parameters_, results_, nodes_;
  Words key_;
  bool has_check_ = false;
};

/// A node's op over other inputs, with its lines and its precision.
Tensor copy_exactly(const Node& node, std::span<const Tensor> inputs);

}  // namespace tegula
