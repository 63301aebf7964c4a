#pragma once
// A graph of a file, built as a graph of tensors.

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tegula/onnx/value.h"

namespace tegula::onnx {

/// Constants that were computed from constants and shapes, for inputs of one signature: computed at its first call.
class Folded {
 public:
  using Constants = std::unordered_map<const Node*, std::vector<HostArray>>;
  /// The constants of the signature; of few signatures, the oldest is forgotten. Hold the lock as long as they are used.
  Constants& of(const std::string& signature);
  std::mutex mutex;

 private:
  static constexpr std::size_t kMost = 8;
  std::vector<std::pair<std::string, Constants>> entries_;
};

/// The value of each name that the graph finds around it: its initializers.
using Names = std::unordered_map<std::string_view, Value>;

/// Builds the results of the file's graph from its inputs, in its order of outputs. Nodes report the file and their name as line.
/// Throws Error naming the node.
std::vector<Value> run_graph(const File& file, const Names& initializers, std::vector<Value> inputs, Folded::Constants* folded);

/// Inputs that a file's graph must be given: no initializer has a value for them.
std::vector<const ValueType*> required_inputs(const Graph& graph);

}  // namespace tegula::onnx
