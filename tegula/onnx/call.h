#pragma once
// One node at the moment when it is built: what an operator's builder sees.

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "tegula/onnx/value.h"

namespace tegula::onnx {

class Call {
 public:
  /// Runs a subgraph of the node, which sees the names around the node; inputs are those of the graph.
  using RunGraph = std::function<std::vector<Value>(const Graph& graph, std::vector<Value> inputs)>;
  /// `looks_at_values` becomes true when a value is looked at that shapes and constants do not tell.
  Call(const Node& node, std::vector<Value> inputs, std::int64_t opset, const Line& where, bool& looks_at_values, RunGraph run,
       const Graph* around = nullptr)
      : node_(node),
        inputs_(std::move(inputs)),
        opset_(opset),
        where_(where),
        looks_at_values_(looks_at_values),
        run_(std::move(run)),
        around_(around) {}

  const Node& node() const { return node_; }
  /// The version of the operator set that the node is of.
  std::int64_t opset() const { return opset_; }
  const Line& where() const { return where_; }

  std::size_t size() const { return inputs_.size(); }
  /// The number of results that are asked for, and whether the i-th is.
  std::size_t results() const { return node_.outputs.size(); }
  bool wants(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  /// Returns true if input i is there (optional inputs may be left out).
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].kind != Value::Kind::None; }
  const Value& value(std::size_t i) const;
  /// Input i. Throws Error where it is missing, or no tensor.
  const Tensor& operator[](std::size_t i) const;
  /// Input i, or an empty Tensor.
  Tensor maybe(std::size_t i) const { return has(i) ? (*this)[i] : Tensor(); }
  /// All inputs.
  std::vector<Tensor> tensors() const;
  /// Returns true if the values of input i can be looked at now.
  bool is_known(std::size_t i) const;
  /// The elements of an input that must be known when the graph is built. Throws Error where they are not.
  HostArray look(std::size_t i) const;
  HostArray look(const Value& value, const std::string& what) const;
  /// The values of an input that must be known when the graph is built: shapes, axes, sizes. Throws Error where they are not.
  std::vector<std::int64_t> integers(std::size_t i) const;
  std::vector<double> numbers(std::size_t i) const;
  std::int64_t integer(std::size_t i) const;
  double number(std::size_t i) const;

  bool has(std::string_view attribute) const { return node_.find(attribute) != nullptr; }
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  bool flag(std::string_view attribute, bool otherwise = false) const { return integer(attribute, otherwise) != 0; }
  double number(std::string_view attribute, double otherwise) const;
  std::string text(std::string_view attribute, std::string_view otherwise = "") const;
  std::vector<std::int64_t> integers(std::string_view attribute, std::vector<std::int64_t> otherwise = {}) const;
  std::vector<float> numbers(std::string_view attribute) const;
  std::vector<std::string> texts(std::string_view attribute) const;
  const StoredArray* array(std::string_view attribute) const;
  /// Throws Error where there is no such graph.
  const Graph& graph(std::string_view attribute) const;
  std::vector<Value> run(const Graph& graph, std::vector<Value> inputs) const { return run_(graph, std::move(inputs)); }
  /// The graph that the node is one of; null in a function's body.
  const Graph* around() const { return around_; }

  /// `axis` in [0, rank). Throws Error.
  int axis(std::int64_t axis, int rank) const;
  /// Axes from an attribute (before `since`) or from input i (from then on); nothing where neither is there.
  std::optional<std::vector<std::int64_t>> axes(std::string_view attribute, std::size_t i) const;

  [[noreturn]] void refuse(std::string got, std::string expected, std::string advice = "") const;

 private:
  const Attribute& expect(const Attribute& found, Attribute::Kind kind) const;

  const Node& node_;
  std::vector<Value> inputs_;
  std::int64_t opset_;
  Line where_;
  bool& looks_at_values_;
  RunGraph run_;
  const Graph* around_;
};

/// A constant of the host.
Tensor constant(const HostArray& array);
Tensor constant(const std::vector<std::int64_t>& values);
Dims dims_of(const Call& call, const std::vector<std::int64_t>& values);

}  // namespace tegula::onnx
