#pragma once
// A piece of graph that is written once and stands for many: the body of a loop. Nothing in it has a value.

#include <functional>
#include <unordered_map>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// Nodes of its own between parameters (leaves without values) and results. What computes it says what the parameters are in the graph around it.
class Region final : public Shared {
 public:
  /// A node that was used while the body was written down, and what it stands for outside.
  struct StandIn {
    Ref<Node> inside, outside;
  };
  struct Closed {
    Ref<const Region> region;
    std::vector<StandIn> parameters;  // one for each
  };
  /// The body below `results`, copied: where the walk meets a stand-in there is a parameter. The first `kept` of them are parameters 0, 1, …, the
  /// others when something reads them. What depends on none is computed outside, once, and is a parameter too: numbers, tensors, whatever is made of
  /// those alone; views and index patterns among them stay inside, if they are not older than the stand-ins.
  /// With `open`, what is worth keeping for a gradient is among the results, behind those that were asked for: the first `kept` parameters, and what a
  /// call, a kernel or a reduction makes.
  static Closed close(std::span<const Tensor> results, std::span<const StandIn> stand_ins, std::size_t kept, bool open);

  /// Of nodes that are in nobody else's hands: in program order, above the parameters, without values.
  static Ref<const Region> of(std::vector<Ref<Node>> parameters, std::vector<Ref<Node>> nodes, std::vector<Ref<Node>> results);

  const std::vector<Ref<Node>>& parameters() const { return parameters_; }
  const std::vector<Ref<Node>>& results() const { return results_; }
  /// In program order, without the parameters.
  const std::vector<Ref<Node>>& nodes() const { return nodes_; }
  /// Equal for two regions exactly when they compute the same.
  const Words& key() const { return key_; }
  bool has_check() const { return has_check_; }

  using Copies = std::unordered_map<const Node*, Tensor>;
  /// Other results for a node with several, given its inputs; none: it is copied as it is.
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
