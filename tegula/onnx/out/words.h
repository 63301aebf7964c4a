#pragma once
// Writers of ops: a line for each in the tables, by kind.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "tegula/core/error.h"
#include "tegula/onnx/out/graph_writer.h"

namespace tegula::onnx {

/// The op's attributes by name, read in each trace.
class Described {
 public:
  Described(const GraphWriter& graph, int node);
  bool flag(std::string_view name) const { return integers(name)[0] != 0; }
  std::int64_t integer(std::string_view name) const { return integers(name)[0]; }
  /// Throws Error where they are not the same in all traces.
  std::vector<std::int64_t> integers(std::string_view name) const;
  /// Integers that may depend on open axes.
  Sizes sizes(std::string_view name) const;
  double real(std::string_view name) const;
  std::string text(std::string_view name) const;
  bool has(std::string_view name) const;

 private:
  struct Each;
  const GraphWriter& graph_;
  int node_;
  std::vector<std::map<std::string, std::vector<std::int64_t>, std::less<>>> integers_;
  std::map<std::string, double, std::less<>> reals_;
  std::map<std::string, std::string, std::less<>> texts_;
};

/// A node at the moment when it is written.
class Site {
 public:
  Site(GraphWriter& graph, int node) : graph_(graph), node_(node) {}

  GraphWriter& graph() { return graph_; }
  NodeList& out() { return graph_.out(); }
  std::int64_t opset() { return out().opset(); }
  const formats::StoredNode& node() const { return graph_.node(node_); }
  int index() const { return node_; }

  std::size_t size() const { return node().in.size(); }
  int in_node(std::size_t i) const { return node().in[i]; }
  const Result& input(std::size_t i) const { return graph_.node(in_node(i)).results[0]; }
  const Result& result(std::size_t k = 0) const { return node().results[k]; }
  int rank() const { return result().shape.rank(); }
  Sizes input_sizes(std::size_t i) const { return graph_.sizes(in_node(i)); }
  Sizes result_sizes(std::size_t k = 0) const { return graph_.sizes(node_, k); }
  std::string in(std::size_t i) { return graph_.value(in_node(i)); }
  std::string loose(std::size_t i) { return graph_.loose(in_node(i)); }
  std::optional<Number> number(std::size_t i) const { return graph_.number(in_node(i)); }
  Described described() const { return Described(graph_, node_); }

  std::string add(const std::string& type, std::vector<std::string> inputs, std::vector<Attribute> attributes = {}) {
    return out().add(type, std::move(inputs), std::move(attributes));
  }
  /// x, computed with in `dtype` by `compute`, in the dtype that it has.
  template <class Compute>
  std::string in_dtype(const std::string& x, DType has, DType dtype, Compute compute) {
    if (has == dtype) return compute(x);
    return out().cast(compute(out().cast(x, dtype)), has);
  }
  void give(std::string value) { graph_.give(node_, {std::move(value)}); }
  void give(std::vector<std::string> values) { graph_.give(node_, std::move(values)); }
  /// Returns true if all numbers among the operands are numbers of their dtype: ops compute in wider ones (-1 beside u8).
  bool numbers_fit() const;
  /// The result of an elementwise node over loose inputs; `reads`: bit i is input i, where the value is not made of all of them.
  void give_elementwise(std::string value, std::uint64_t reads = ~std::uint64_t{0});
  [[noreturn]] void refuse(const std::string& why, const std::string& advice = "") const { graph_.refuse(node_, why, advice); }

 private:
  GraphWriter& graph_;
  int node_;
};

struct Word {
  std::string_view op;  // Op::class_name(); of a composite (custom_function) its name
  void (*write)(Site& site);
  bool is_composite = false;  // reads the arguments, and not what they were composed to
};
/// The op's word, or null.
const Word* find_word(const Op& op);

/// Writes an elementwise op by the words of its formula (tile/ir.h).
void write_formula(Site& site);
/// Writes an elementwise op that has an operator of its own; false where it has none for these dtypes in this operator set.
bool write_by_operator(Site& site);

using WordList = std::span<const Word>;
WordList elementwise_words();
WordList shape_words();
WordList index_words();
WordList row_words();
WordList product_words();
WordList normalization_words();
WordList attention_words();
WordList loop_words();

/// Returns true if a number of the dtype may be an attribute, which is f32: of f64 only one that f32 has.
bool fits_attribute(DType dtype, double number);

/// BatchNormalization, LayerNormalization, InstanceNormalization, GroupNormalization, Gemm, or a Conv with a bias in place of the last op of their formula.
/// False where the node is no such.
bool write_pattern(Site& site);

}  // namespace tegula::onnx
