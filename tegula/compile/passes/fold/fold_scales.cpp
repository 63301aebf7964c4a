#include "tegula/compile/passes/fold/fold_scales.h"

#include <algorithm>

#include "tegula/compile/passes/cut_steady.h"
#include "tegula/compile/passes/fold/fold_epilogues.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

using Kind = ElementwiseOp::Epilogue;

/// A vector along one axis of a larger shape.
class AlongAxis final : public ViewOp {
 public:
  AlongAxis(const Shape& shape, int axis) : shape_(shape), axis_(axis) {}
  std::string_view name() const override { return "along_axis"; }
  void attributes(Attributes& a) const override { a("axis", axis_); }
  std::optional<Layout> apply(const Layout& input) const override {
    Layout layout{shape_, Dims::filled(shape_.rank(), 0), input.offset};
    layout.strides[axis_] = input.strides[0];
    return layout;
  }

 private:
  Shape shape_;
  int axis_;
};

class Folder {
 public:
  explicit Folder(const Graph& from)
      : from_(from),
        rewriter_(from),
        uses_(count_uses(from)),
        steady_(steady_items(from)),
        scaled_(from.items.size()) {}

  Graph run() {
    rewriter_.each([this](int i, Item& item) {
      if (item.role() != Role::Elementwise || item.inputs.size() != 2) return;
      const Kind kind = item.as<ElementwiseOp>().epilogue();
      if (kind == Kind::Multiply) fold_factor(i, item);
      else if (kind == Kind::Add) fit_addend(i, item);
    });
    return rewriter_.finish();
  }

 private:
  int add(Ref<const Op> op, std::vector<int> inputs, const Shape& shape, DType dtype, const Item& like) {
    Item item = inserted(std::move(op), std::move(inputs), like);
    item.shape = shape;
    item.dtype = dtype;
    return rewriter_.add(std::move(item));
  }
  bool is_steady(int i) const { return steady_[static_cast<std::size_t>(i)]; }
  int now(int i) const { return rewriter_.now(i); }

  // The call takes the product's place, with a weight that holds the factor; the old call is dead.
  void fold_factor(int i, Item& product) {
    for (std::size_t k = 0; k < 2; ++k) {
      const int producer = from_[i].inputs[k], factor = from_[i].inputs[1 - k];
      const Item& call = from_[producer];
      if (call.role() != Role::Library || uses_[static_cast<std::size_t>(producer)] != 1 || call.dtype != product.dtype) continue;
      const auto& op = call.as<LibraryOp>();
      const bool plain = !call.epilogue.bias && !call.epilogue.addend && call.epilogue.activation == 0;
      if (op.weight_axis() < 0 || !plain || !is_steady(factor) || !is_steady(call.inputs[1])) continue;
      const auto vector = channel_vector(from_, factor, op.bias_axis(), call.shape);
      if (!vector) continue;
      // In the weight's own dtype where it was rounded only for the call.
      int weight = now(call.inputs[1]);
      const Graph& out = rewriter_.out();
      if (out[weight].op == cast_op() && size_of(out[out[weight].inputs[0]].dtype) > size_of(call.dtype)) weight = out[weight].inputs[0];
      const Shape shape = out[weight].shape;
      const DType dtype = out[weight].dtype;
      const int along = add(Ref<const Op>(new AlongAxis(shape, op.weight_axis())), {now(*vector)}, shape, from_[*vector].dtype, product);
      int scaled = add(product.op, {weight, along}, shape, dtype, product);
      if (dtype != call.dtype) scaled = add(cast_op(), {scaled}, shape, call.dtype, product);
      const Origin origin = product.origin;
      product = call;
      product.inputs = {now(call.inputs[0]), scaled};
      product.origin = origin;
      scaled_[static_cast<std::size_t>(i)] = true;
      return;
    }
  }

  // What is added to such a call becomes a bias of its dtype.
  void fit_addend(int i, Item& sum) {
    for (std::size_t k = 0; k < 2; ++k) {
      const int producer = from_[i].inputs[k], other = from_[i].inputs[1 - k];
      if (!scaled_[static_cast<std::size_t>(producer)] || uses_[static_cast<std::size_t>(producer)] != 1 || !is_steady(other)) continue;
      const Item& call = rewriter_.out()[now(producer)];
      const int axis = call.as<LibraryOp>().bias_axis();
      const auto vector = channel_vector(from_, other, axis, call.shape);
      if (!vector || from_[*vector].dtype == call.dtype || !is_float(from_[*vector].dtype) || sum.dtype != call.dtype) continue;
      const DType dtype = call.dtype;
      const Shape shape = call.shape;
      const int cast = add(cast_op(), {now(*vector)}, from_[*vector].shape, dtype, sum);
      sum.inputs[1 - k] = add(Ref<const Op>(new AlongAxis(shape, axis)), {cast}, shape, dtype, sum);
      return;
    }
  }

  const Graph& from_;
  Rewriter rewriter_;
  std::vector<int> uses_;
  std::vector<bool> steady_;
  std::vector<bool> scaled_;  // products that have become calls
};

}  // namespace

void fold_scales(Graph& graph) {
  const std::vector<bool> steady = steady_items(graph);
  const bool any = std::ranges::any_of(graph.items, [&](const Item& item) {
    return item.role() == Role::Library && item.as<LibraryOp>().weight_axis() >= 0 && steady[static_cast<std::size_t>(item.inputs[1])];
  });
  if (!any) return;
  graph = Folder(graph).run();
  remove_dead(graph);
}

}  // namespace tegula::compile
