#include "tegula/compile/passes/layouts.h"

#include <map>
#include <utility>

#include "tegula/compile/description.h"
#include "tegula/compile/passes/cut_steady.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

/// A weight over the axes of the blocks, or row-major -> what it is in blocks, as one axis.
class PackOp final : public LibraryOp {
 public:
  explicit PackOp(const runtime::Blocked& blocks) : blocks_(blocks) {}
  std::string_view name() const override { return "pack"; }
  void attributes(Attributes& a) override {
    a("shape", blocks_.shape);
    a("strides", blocks_.strides);
    a("axes", blocks_.axes);
    a("sizes", blocks_.sizes);
  }
  Numerics numerics() const override { return Numerics::Either; }
  runtime::CallDescription describe(const Setting& setting) const override {
    return runtime::Packing{setting.dtype, over_blocks(setting.inputs[0]), blocks_};
  }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override {
    return layout.is_dense() || over_blocks(layout).shape == blocks_.shape;
  }
  double operations(std::span<const Shape>, const Shape& output) const override { return static_cast<double>(numel(output)); }
  void reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const override {
    throw Error({.op = "pack", .got = "a graph with packed weights", .expected = "the graph before this pass"});
  }

 private:
  /// Batch axes of size 1 in front are left out.
  Layout over_blocks(const Layout& layout) const {
    if (layout.is_dense()) return Layout::dense(blocks_.shape);
    Layout out = layout;
    while (out.shape.rank() > blocks_.shape.rank() && out.shape[0] == 1) out.shape.erase(0), out.strides.erase(0);
    return out;
  }

  runtime::Blocked blocks_;
};

/// Per item: true if it is computed from leaves by views and elementwise work only.
std::vector<bool> plain_items(const Graph& graph) {
  std::vector<bool> out = steady_items(graph);
  for (int i = 0; i < graph.size(); ++i) {
    const Role role = graph[i].role();
    bool plain = role == Role::Leaf || role == Role::Scalar || role == Role::View || role == Role::Elementwise;
    for (const int input : graph[i].inputs) plain = plain && out[index(input)];
    out[index(i)] = out[index(i)] && plain;
  }
  return out;
}

/// The operand that may come in blocks; null of calls without.
runtime::Operand* weight_of(runtime::CallDescription& call) {
  if (auto* const product = std::get_if<runtime::Matmul>(&call)) return &product->b;
  auto* const convolution = std::get_if<runtime::Convolution>(&call);
  return convolution && convolution->pass != runtime::ConvolutionPass::BackwardWeight ? &convolution->weight : nullptr;
}

/// The blocks in which the call would have its weight; none where it is best as it lies.
runtime::Blocked wanted_blocks(const Graph& graph, const Item& item, const runtime::Device& device) {
  runtime::CallDescription asked = description_of(graph, item, device);
  runtime::Operand* const weight = weight_of(asked);
  if (!weight) return {};
  weight->blocks.any = true;
  std::vector<runtime::Candidate> ways = device.candidates(asked);
  if (ways.empty()) return {};
  const runtime::Blocked blocks = weight_of(ways.front().description)->blocks;
  return blocks.any ? runtime::Blocked() : blocks;
}

/// The blocked layout of each call that prefers its weight in blocks. Without those more than twice as large as the weight.
std::map<int, runtime::Blocked> all_wanted_blocks(const Graph& graph, const runtime::Device& device) {
  const std::vector<bool> plain = plain_items(graph);
  std::map<int, runtime::Blocked> out;
  for (int i = 0; i < graph.size(); ++i) {
    const Item& item = graph[i];
    if (item.role() != Role::Library || !item.results.empty() || item.inputs.size() < 2) continue;
    const int weight = item.inputs[1];
    if (!plain[index(weight)]) continue;
    const runtime::Blocked blocks = wanted_blocks(graph, item, device);
    if (blocks && runtime::elements(blocks) <= 2 * numel(graph[weight].shape)) out.emplace(i, blocks);
  }
  return out;
}

}  // namespace

void pack_weights(Graph& graph, const runtime::Device& device) {
  if (!device.traits().layouts.weights_in_blocks) return;
  const std::map<int, runtime::Blocked> wanted = all_wanted_blocks(graph, device);
  if (wanted.empty()) return;
  std::map<std::pair<int, Words>, int> packed;  // (weight, blocks) -> the item that packs it
  rewrite(graph, [&](Rewriter& rewriter, int i, Item& item) {
    const auto found = wanted.find(i);
    if (found == wanted.end()) return;
    const int old = graph[i].inputs[1], weight = item.inputs[1];
    const runtime::Blocked& blocks = found->second;
    const Ref<const Op> op(new PackOp(blocks));
    Words key;
    append(key, *op);
    const auto [known, is_new] = packed.try_emplace({old, std::move(key)});
    if (is_new) known->second = rewriter.insert(op, {weight}, rewriter.out()[weight], {.shape = Shape{runtime::elements(blocks)}});
    item.packed = Packed{blocks, graph[old].shape};
    item.inputs[1] = known->second;
  });
}

}  // namespace tegula::compile
