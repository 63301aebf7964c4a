#include "tegula/compile/passes/fold/fold.h"

#include <algorithm>

#include "tegula/compile/passes/cut_steady.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

class RepeatOp final : public ViewOp {
 public:
  RepeatOp(const Shape& shape, const Dims& axes) : shape_(shape), axes_(axes) {}
  std::string_view name() const override { return "repeat"; }
  void attributes(Attributes& a) override { a("axes", axes_); }
  std::optional<Layout> apply(const Layout& input) const override {
    Layout out{shape_, Dims::filled(shape_.rank(), 0), input.offset};
    for (int i = 0; i < shape_.rank(); ++i)
      if (axes_[i] >= 0) out.strides[i] = input.strides[static_cast<int>(axes_[i])];
    return out;
  }

 private:
  Shape shape_;
  Dims axes_;
};

}  // namespace

Ref<const Op> repeat_op(const Shape& shape, const Dims& axes) { return Ref<const Op>(new RepeatOp(shape, axes)); }
Ref<const Op> along_axis(const Shape& shape, int axis) {
  Dims axes = Dims::filled(shape.rank(), -1);
  axes[axis] = 0;
  return repeat_op(shape, axes);
}

namespace {

class Folder : Rewriter {
 public:
  Folder(const Graph& from, std::vector<bool> steady)
      : Rewriter(from),
        users_(from),
        steady_(std::move(steady)),
        scaled_(from.items.size()) {}

  Graph run() {
    each([this](int i, Item& item) {
      if (item.is(tile::Word::Mul)) fold_factor(i, item);
      else if (item.is(tile::Word::Add)) fit_addend(i, item);
    });
    return finish();
  }

 private:
  int made(Ref<const Op> op, std::vector<int> inputs, const Shape& shape, DType dtype, const Item& like) {
    return insert(std::move(op), std::move(inputs), like, {shape, dtype});
  }
  bool is_steady(int i) const { return steady_[index(i)]; }

  int cast_to(DType dtype, int vector, const Item& like) {
    const Shape shape = out()[vector].shape;
    return out()[vector].dtype == dtype ? vector : made(cast_op(), {vector}, shape, dtype, like);
  }
  // A vector of the new graph, of the call's dtype and along its channels.
  int along_channels(int vector, const Item& call, const Item& like) {
    const Shape shape = call.shape;
    const DType dtype = call.dtype;
    const int axis = call.as<LibraryOp>().bias_axis();
    return made(along_axis(shape, axis), {cast_to(dtype, vector, like)}, shape, dtype, like);
  }

  /// A call, and the vector that is added to its channels; -1: none.
  struct Biased {
    int call = -1, bias = -1;
  };
  /// The call behind an old item that nobody else reads.
  Biased call_at(int i) const {
    const Item& item = from()[i];
    if (!users_.once(i)) return {};
    if (item.role() == Role::Library) return {i};
    if (!item.is(tile::Word::Add)) return {};
    for (std::size_t k = 0; k < 2; ++k) {
      const int call = item.inputs[k], other = item.inputs[1 - k];
      const Item& library = from()[call];
      if (library.role() != Role::Library || !users_.once(call) || library.dtype != item.dtype) continue;
      const auto bias = is_steady(other) ? channel_vector(from(), other, library.as<LibraryOp>().bias_axis(), library.shape) : std::nullopt;
      if (bias && is_float(from()[*bias].dtype)) return {call, *bias};
    }
    return {};
  }

  // The call takes the product's place, with a weight that holds the factor; the old call is dead. (x w + b) f becomes x (w f) + b f.
  void fold_factor(int i, Item& product) {
    for (std::size_t k = 0; k < 2; ++k) {
      const int producer = from()[i].inputs[k], factor = from()[i].inputs[1 - k];
      const Biased found = call_at(producer);
      if (found.call < 0) continue;
      const Item& call = from()[found.call];
      if (call.dtype != product.dtype) continue;
      const auto& op = call.as<LibraryOp>();
      const bool plain = call.epilogue->is_empty();
      if (op.weight_axis() < 0 || !plain || !is_steady(factor) || !is_steady(call.inputs[1])) continue;
      const auto vector = channel_vector(from(), factor, op.bias_axis(), call.shape);
      if (!vector) continue;
      // In the weight's own dtype where it was rounded only for the call.
      int weight = now(call.inputs[1]);
      if (out()[weight].op == cast_op() && size_of(out()[out()[weight].inputs[0]].dtype) > size_of(call.dtype))
        weight = out()[weight].inputs[0];
      const Shape shape = out()[weight].shape;
      const DType dtype = out()[weight].dtype;
      const int along = made(along_axis(shape, op.weight_axis()), {now(*vector)}, shape, from()[*vector].dtype, product);
      const int scaled = cast_to(call.dtype, made(product.op, {weight, along}, shape, dtype, product), product);
      Item folded = call;
      folded.inputs = {now(call.inputs[0]), scaled};
      folded.origin = product.origin;
      Biased& result = scaled_[index(i)];
      if (found.bias < 0) {
        product = folded;
        result.call = out().size();  // where it will stand
        return;
      }
      result.call = add(folded);
      const DType factors = from()[*vector].dtype;
      const int bias = cast_to(factors, now(found.bias), product);
      result.bias = made(product.op, {bias, now(*vector)}, from()[*vector].shape, factors, product);
      product.op = from()[producer].op;
      product.inputs = {result.call, along_channels(result.bias, folded, product)};
      return;
    }
  }

  // An addend of such a call becomes its bias, in its dtype, added to the bias that it has.
  void fit_addend(int i, Item& sum) {
    for (std::size_t k = 0; k < 2; ++k) {
      const int producer = from()[i].inputs[k], other = from()[i].inputs[1 - k];
      const Biased scaled = scaled_[index(producer)];
      if (scaled.call < 0 || !users_.once(producer) || !is_steady(other)) continue;
      const Item call = out()[scaled.call];
      const auto vector = channel_vector(from(), other, call.as<LibraryOp>().bias_axis(), call.shape);
      if (!vector || !is_float(from()[*vector].dtype) || sum.dtype != call.dtype) continue;
      if (scaled.bias < 0) {
        if (from()[*vector].dtype != call.dtype) sum.inputs[1 - k] = along_channels(now(*vector), call, sum);
        return;
      }
      const DType dtype = out()[scaled.bias].dtype;
      const Shape shape = from()[*vector].shape;
      const int both = made(sum.op, {scaled.bias, cast_to(dtype, now(*vector), sum)}, shape, dtype, sum);
      sum.inputs = {scaled.call, along_channels(both, call, sum)};
      return;
    }
  }

  Users users_;
  std::vector<bool> steady_;
  std::vector<Biased> scaled_;  // of the new graph, by the number of the product that has become a call
};

}  // namespace

void fold_scales(Graph& graph) {
  std::vector<bool> steady = steady_items(graph);
  const bool any = std::ranges::any_of(graph.items, [&](const Item& item) {
    return item.role() == Role::Library && item.as<LibraryOp>().weight_axis() >= 0 && steady[index(item.inputs[1])];
  });
  if (!any) return;
  graph = Folder(graph, std::move(steady)).run();
  remove_dead(graph);
}

}  // namespace tegula::compile
