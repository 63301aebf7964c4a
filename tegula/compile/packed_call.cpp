#include "tegula/compile/packed_call.h"

#include <string>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::compile {
namespace {

class PackedCall final : public LibraryOp {
 public:
  PackedCall(Ref<const Op> op, const runtime::Blocked& blocks, const Shape& weight)
      : op_(std::move(op)),
        blocks_(blocks),
        weight_(weight) {}

  std::string_view name() const override { return op_->name(); }
  void attributes(Attributes& a) override {
    std::string op(op_->class_name());
    a("op", op);
    op_->visit(a);
    a("weight", weight_);
    a("blocked_strides", blocks_.strides);
    a("blocked_axes", blocks_.axes);
    a("blocked_sizes", blocks_.sizes);
  }
  Numerics numerics() const override { return op_->numerics(); }
  runtime::CallDescription describe(const Setting& setting) const override {
    std::vector<Layout> inputs(setting.inputs.begin(), setting.inputs.end());
    inputs[1] = Layout::dense(weight_);
    Setting inner = setting;
    inner.inputs = inputs;
    runtime::CallDescription out = call().describe(inner);
    if (auto* const convolution = std::get_if<runtime::Convolution>(&out)) convolution->weight.blocks = blocks_;
    else if (auto* const product = std::get_if<runtime::Matmul>(&out)) product->b.blocks = blocks_;
    return out;
  }
  bool accepts(const runtime::Device& device, int index, const Layout& layout) const override {
    return index == 1 ? layout.is_dense() : call().accepts(device, index, layout);
  }
  DType input_dtype(int index, DType result) const override { return call().input_dtype(index, result); }
  bool takes_slice(const runtime::Device& device, int which, const SlicePlace& slice) const override {
    return which != 1 && call().takes_slice(device, which, slice);
  }
  bool multiplies_matrices() const override { return call().multiplies_matrices(); }
  int bias_axis() const override { return call().bias_axis(); }
  std::uint32_t channels_last(runtime::Device& device, std::span<const Layout> inputs, const Shape& output, DType dtype) const override {
    return call().channels_last(device, inputs, output, dtype);
  }
  double operations(std::span<const Shape> inputs, const Shape& output) const override {
    std::vector<Shape> shapes(inputs.begin(), inputs.end());
    shapes[1] = weight_;
    return call().operations(shapes, output);
  }
  void reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const override {
    throw Error({.op = std::string(name()), .got = "a call of a packed weight", .expected = "the graph before this pass"});
  }

 private:
  const LibraryOp& call() const { return static_cast<const LibraryOp&>(*op_); }

  Ref<const Op> op_;
  runtime::Blocked blocks_;
  Shape weight_;
};

}  // namespace

Ref<const Op> packed_call(const Ref<const Op>& op, const runtime::Blocked& blocks, const Shape& weight) {
  return Ref<const Op>(new PackedCall(op, blocks, weight));
}

}  // namespace tegula::compile
