#pragma once
// A graph apart from its tensors: which ops over which others. Made of a traced function, written to a file, read from one, and built again as nodes like
// those that it was made of.

#include <memory>
#include <span>
#include <vector>

#include "tegula/graph/regions/region.h"
#include "tegula/graph/variable.h"

namespace tegula::formats {

struct StoredGraph;

struct StoredNode {
  enum class Kind : std::uint8_t {
    Op,
    Input,  // of the graph; `index` is the input's number
    Variable,  // the value when the function begins; `index`: which one
    Constant,  // a tensor that was captured; `index`: which one
  };
  Kind kind = Kind::Op;
  int index = 0;
  Ref<const Op> op;
  std::vector<int> in;  // numbers of nodes before this one
  std::vector<Result> results;
  bool several = false;
  Precision precision = Precision::fp32;
  Zeros zeros = Zeros::Plain;
  Origin origin;
  int writes = -1;  // a view that is the new value of this Variable
  std::shared_ptr<const StoredGraph> body;  // the body of a loop
  // For a custom function: its gradient over (inputs…, the result, its gradient, captured…), and the nodes that are captured. Null if the file has none.
  std::shared_ptr<const StoredGraph> gradient;
  std::vector<int> captured;
};

struct StoredGraph {
  std::vector<StoredNode> nodes;
  std::vector<int> outputs;  // -1 in a gradient: none flows
};

/// The tensors and cells in the place of a graph's inputs, Variables and constants.
struct Surroundings {
  std::span<const Tensor> inputs;
  std::span<const Ref<Cell>> cells;
  std::span<const Tensor> constants;
};

/// The tensors that the nodes became, one for each. `new_nodes`: as ops make them, which evaluation hears of; otherwise those of a region.
std::vector<Tensor> build(const StoredGraph& graph, const Surroundings& around, bool new_nodes = true);

/// The body of a loop whose parameters are the graph's inputs, each of which is a node.
Ref<const Region> region_of(const StoredGraph& graph, std::span<const Tensor> constants);

}  // namespace tegula::formats
