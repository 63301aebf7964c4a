#pragma once
// From a traced function to the nodes of an ONNX graph. Each op has a word: a function that writes it (out/words.h).

#include <optional>
#include <string>
#include <vector>

#include "tegula/formats/stored_graph.h"
#include "tegula/onnx/out/node_list.h"

namespace tegula::onnx {

/// Writes one graph, given in the form of every trace (out/sizes.h): the graphs differ in sizes alone.
class GraphWriter {
 public:
  using Traces = std::vector<const formats::StoredGraph*>;
  /// The values that the graph's leaves stand for.
  struct Leaves {
    std::vector<std::string> inputs, variables, constants;
  };
  /// Throws Error where the traces differ in more than sizes.
  GraphWriter(NodeList& out, Traces traces, Leaves leaves);

  /// Writes what the results need. Throws Error for an op that cannot be written, which it names, with its line.
  std::vector<std::string> write();

  NodeList& out() { return out_; }
  const OpenSizes& open_sizes() const { return out_.sheet().open; }
  const Traces& traces() const { return traces_; }
  /// The values of the file's constants, for graphs within this one.
  const std::vector<std::string>& constants() const { return leaves_.constants; }
  const formats::StoredNode& node(int i, std::size_t trace = 0) const { return traces_[trace]->nodes[static_cast<std::size_t>(i)]; }
  /// The number of nodes and results that read node i.
  int uses(int i) const { return uses_[static_cast<std::size_t>(i)]; }
  /// Returns true if anything that is written reads this result of node i.
  bool is_read(int i, std::size_t result) const;
  Sizes sizes(int i, std::size_t result = 0) const;
  /// The value of node i.
  std::string value(int i, std::size_t result = 0);
  /// A value that broadcasts to that of node i, and its sizes.
  std::string loose(int i);
  const Sizes& loose_sizes(int i);
  /// The number that node i is in all traces.
  std::optional<Number> number(int i) const;

  void give(int i, std::vector<std::string> results);
  void give_loose(int i, std::string value, Sizes sizes);

  [[noreturn]] void refuse(int i, const std::string& why, const std::string& advice = "") const;

 private:
  struct Slot {
    std::vector<std::string> results;  // of the full shape; empty: not made yet
    std::string loose;
    Sizes loose_sizes;
  };
  void compare_traces() const;
  void mark();
  void write_node(int i);
  void write_scalar(int i);
  /// The same value as node `from`.
  void alias(int i, int from);
  Slot& slot(int i) { return slots_[static_cast<std::size_t>(i)]; }

  NodeList& out_;
  Traces traces_;
  Leaves leaves_;
  std::vector<bool> needed_;
  std::vector<int> uses_;
  std::vector<Slot> slots_;
};

}  // namespace tegula::onnx
