#include "tegula/compile/passes/fold/fold.h"

#include <algorithm>

#include "tegula/compile/passes/cut_steady.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

/// A vector along one axis of a larger shape.
class AlongAxis final : public ViewOp {
 public:
  AlongAxis(const Shape& shape, int axis) : shape_(shape), axis_(axis) {}
  std::string_view name() const override { return "along_axis"; }
  void attributes(Attributes& a) override { a("axis", axis_); }
  std::optional<Layout> apply(const Layout& input) const override {
    Layout layout{shape_, Dims::filled(shape_.rank(), 0), input.offset};
    layout.strides[axis_] = input.strides[0];
    return layout;
  }

 private:
  Shape shape_;
  int axis_;
};

}  // namespace

Ref<const Op> along_axis(const Shape& shape, int axis) { return Ref<const Op>(new AlongAxis(shape, axis)); }

namespace {

class Folder {
 public:
  Folder(const Graph& from, std::vector<bool> steady)
      : from_(from),
        rewriter_(from),
        users_(from),
        steady_(std::move(steady)),
        scaled_(from.items.size()) {}

  Graph run() {
    rewriter_.each([this](int i, Item& item) {
      if (item.is(tile::Word::Mul)) fold_factor(i, item);
      else if (item.is(tile::Word::Add)) fit_addend(i, item);
    });
    return rewriter_.finish();
  }

 private:
  int add(Ref<const Op> op, std::vector<int> inputs, const Shape& shape, DType dtype, const Item& like) {
    return rewriter_.insert(std::move(op), std::move(inputs), like, {shape, dtype});
  }
  bool is_steady(int i) const { return steady_[static_cast<std::size_t>(i)]; }
  int now(int i) const { return rewriter_.now(i); }

  int cast_to(DType dtype, int vector, const Item& like) {
    const Shape shape = rewriter_.out()[vector].shape;
    return rewriter_.out()[vector].dtype == dtype ? vector : add(cast_op(), {vector}, shape, dtype, like);
  }
  // A vector of the new graph, of the call's dtype and along its channels.
  int along_channels(int vector, const Item& call, const Item& like) {
    const Shape shape = call.shape;
    const DType dtype = call.dtype;
    const int axis = call.as<LibraryOp>().bias_axis();
    return add(along_axis(shape, axis), {cast_to(dtype, vector, like)}, shape, dtype, like);
  }

  /// A call, and the vector that is added to its channels; -1: none.
  struct Biased {
    int call = -1, bias = -1;
  };
  /// The call behind an old item that nobody else reads.
  Biased call_at(int i) const {
    const Item& item = from_[i];
    if (!users_.once(i)) return {};
    if (item.role() == Role::Library) return {i};
    if (!item.is(tile::Word::Add)) return {};
    for (std::size_t k = 0; k < 2; ++k) {
      const int call = item.inputs[k], other = item.inputs[1 - k];
      const Item& library = from_[call];
      if (library.role() != Role::Library || !users_.once(call) || library.dtype != item.dtype) continue;
      const auto bias = is_steady(other) ? channel_vector(from_, other, library.as<LibraryOp>().bias_axis(), library.shape) : std::nullopt;
      if (bias && is_float(from_[*bias].dtype)) return {call, *bias};
    }
    return {};
  }

  // The call takes the product's place, with a weight that holds the factor; the old call is dead. (x w + b) f becomes x (w f) + b f.
  void fold_factor(int i, Item& product) {
    for (std::size_t k = 0; k < 2; ++k) {
      const int producer = from_[i].inputs[k], factor = from_[i].inputs[1 - k];
      const Biased found = call_at(producer);
      if (found.call < 0) continue;
      const Item& call = from_[found.call];
      if (call.dtype != product.dtype) continue;
      const auto& op = call.as<LibraryOp>();
      const bool plain = call.epilogue->is_empty();
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
      const int scaled = cast_to(call.dtype, add(product.op, {weight, along}, shape, dtype, product), product);
      Item folded = call;
      folded.inputs = {now(call.inputs[0]), scaled};
      folded.origin = product.origin;
      Biased& result = scaled_[static_cast<std::size_t>(i)];
      if (found.bias < 0) {
        product = folded;
        result.call = rewriter_.out().size();  // where it will stand
        return;
      }
      result.call = rewriter_.add(folded);
      const DType factors = from_[*vector].dtype;
      const int bias = cast_to(factors, now(found.bias), product);
      result.bias = add(product.op, {bias, now(*vector)}, from_[*vector].shape, factors, product);
      product.op = from_[producer].op;
      product.inputs = {result.call, along_channels(result.bias, folded, product)};
      return;
    }
  }

  // An addend of such a call becomes its bias, in its dtype, added to the bias that it has.
  void fit_addend(int i, Item& sum) {
    for (std::size_t k = 0; k < 2; ++k) {
      const int producer = from_[i].inputs[k], other = from_[i].inputs[1 - k];
      const Biased scaled = scaled_[static_cast<std::size_t>(producer)];
      if (scaled.call < 0 || !users_.once(producer) || !is_steady(other)) continue;
      const Item call = rewriter_.out()[scaled.call];
      const auto vector = channel_vector(from_, other, call.as<LibraryOp>().bias_axis(), call.shape);
      if (!vector || !is_float(from_[*vector].dtype) || sum.dtype != call.dtype) continue;
      if (scaled.bias < 0) {
        if (from_[*vector].dtype != call.dtype) sum.inputs[1 - k] = along_channels(now(*vector), call, sum);
        return;
      }
      const DType dtype = rewriter_.out()[scaled.bias].dtype;
      const Shape shape = from_[*vector].shape;
      const int both = add(sum.op, {scaled.bias, cast_to(dtype, now(*vector), sum)}, shape, dtype, sum);
      sum.inputs = {scaled.call, along_channels(both, call, sum)};
      return;
    }
  }

  const Graph& from_;
  Rewriter rewriter_;
  Users users_;
  std::vector<bool> steady_;
  std::vector<Biased> scaled_;  // of the new graph, by the number of the product that has become a call
};

}  // namespace

void fold_scales(Graph& graph) {
  std::vector<bool> steady = steady_items(graph);
  const bool any = std::ranges::any_of(graph.items, [&](const Item& item) {
    return item.role() == Role::Library && item.as<LibraryOp>().weight_axis() >= 0 && steady[static_cast<std::size_t>(item.inputs[1])];
  });
  if (!any) return;
  graph = Folder(graph, std::move(steady)).run();
  remove_dead(graph);
}

}  // namespace tegula::compile
