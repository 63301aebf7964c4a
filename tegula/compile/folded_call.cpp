#include "tegula/compile/folded_call.h"

#include <string>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::compile {
namespace {

class FoldedCall final : public LibraryOp {
 public:
  FoldedCall(Ref<const Op> op, Folded folded) : op_(std::move(op)), folded_(std::move(folded)) {}

  std::string_view name() const override { return op_->name(); }
  void attributes(Attributes& a) override {
    std::string op(op_->class_name());
    a("op", op);
    op_->visit(a);
    std::string behind;
    for (const tile::Word word : folded_.behind.words) behind += std::string(tile::name(word)) + " ";
    a("behind", behind);
    a("keeps_nan", folded_.keeps_nan);
    a("weight", folded_.weight);
    a("blocked_strides", folded_.blocks.strides);
    a("blocked_axes", folded_.blocks.axes);
    a("blocked_sizes", folded_.blocks.sizes);
  }
  Numerics numerics() const override { return op_->numerics(); }
  runtime::CallDescription describe(const Setting& setting) const override {
    std::vector<Layout> inputs(setting.inputs.begin(), setting.inputs.end());
    if (folded_.blocks) inputs[1] = Layout::dense(folded_.weight);
    Setting inner = setting;
    inner.inputs = inputs;
    runtime::CallDescription out = call().describe(inner);
    if (auto* const convolution = std::get_if<runtime::Convolution>(&out)) {
      if (!folded_.behind.words.empty()) convolution->behind = folded_.behind;
      if (folded_.blocks) convolution->weight.blocks = folded_.blocks;
      convolution->keeps_nan = convolution->keeps_nan && folded_.keeps_nan;
    } else if (auto* const product = std::get_if<runtime::Matmul>(&out); product && folded_.blocks) {
      product->b.blocks = folded_.blocks;
    }
    return out;
  }
  bool accepts(const runtime::Device& device, int index, const Layout& layout) const override {
    return is_own(index) ? layout.is_dense() : call().accepts(device, index, layout);
  }
  DType input_dtype(int index, DType result) const override { return call().input_dtype(index, result); }
  bool takes_slice(const runtime::Device& device, int which, const SlicePlace& slice) const override {
    return !is_own(which) && call().takes_slice(device, which, slice);
  }
  bool multiplies_matrices() const override { return call().multiplies_matrices(); }
  int bias_axis() const override { return folded_.behind.words.empty() ? call().bias_axis() : -1; }
  std::uint32_t channels_last(runtime::Device& device, std::span<const Layout> inputs, const Shape& output, DType dtype) const override {
    return call().channels_last(device, inputs, output, dtype);
  }
  double operations(std::span<const Shape> inputs, const Shape& output) const override {
    std::vector<Shape> shapes(inputs.begin(), inputs.end());
    if (folded_.blocks) shapes[1] = folded_.weight;
    return call().operations(shapes, output);
  }
  void reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const override {
    throw Error({.op = std::string(name()), .got = "a call with more put into it", .expected = "the graph before this pass"});
  }

 private:
  const LibraryOp& call() const { return static_cast<const LibraryOp&>(*op_); }
  /// True for an operand that the inner op does not have, or has in another layout.
  bool is_own(int operand) const { return operand >= 2 || (operand == 1 && folded_.blocks); }

  Ref<const Op> op_;
  Folded folded_;
};

}  // namespace

Ref<const Op> folded_call(const Ref<const Op>& op, Folded folded) { return Ref<const Op>(new FoldedCall(op, std::move(folded))); }

Expression expression_behind(const Graph& graph, const Item& item, int input) {
  Expression out;
  Expression::Word last{.op = item.op, .dtype = item.dtype};
  for (std::size_t k = 0; k < item.inputs.size(); ++k) {
    const Item& operand = graph[item.inputs[k]];
    const bool fits = k == 0 ? item.inputs[k] == input : operand.role() == Role::Scalar && operand.shape.rank() == 0;
    if (!fits || operand.dtype != item.dtype) return {};
    const auto kind = k == 0 ? Expression::Word::Kind::Result : Expression::Word::Kind::Number;
    last.operands.push_back(out.add({.kind = kind, .input = static_cast<int>(k), .dtype = item.dtype}));
  }
  out.add(std::move(last));
  return out;
}

}  // namespace tegula::compile
