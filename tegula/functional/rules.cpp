#include "tegula/functional/rules.h"

#include <map>
#include <nlohmann/json.hpp>

#include "tegula/core/error.h"
#include "tegula/formats/attribute_json.h"
#include "tegula/formats/known_ops.h"
#include "tegula/graph/autodiff/custom_op.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/loop.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::functional {
namespace {

using nlohmann::json;
using Inputs = std::span<const Mapped>;

Shape example_of(const Mapped& x) {
  Shape shape = x.value.shape();
  if (x.varies) shape.erase(0);
  return shape;
}

[[noreturn]] void refuse(const Batch& batch, const Node& node, std::string expected, std::string advice) {
  throw Error({.op = "vmap",
               .got = std::string(node.op().name()) + " at " + to_string(node.origin().where),
               .expected = std::move(expected),
               .advice = std::move(advice),
               .where = batch.where()});
}

std::vector<Result> results_of(const Node& node) {
  const auto several = node.results();
  return several.empty() ? std::vector<Result>{{node.shape(), node.dtype()}} : std::vector<Result>(several.begin(), several.end());
}

/// A node of this op, or its parts.
std::vector<Tensor> make_all(Ref<const Op> op, const std::vector<Tensor>& inputs, const std::vector<Result>& results, const Node& like) {
  const Line& where = like.origin().where;
  if (!like.results().empty()) return make_nodes(std::move(op), inputs, results, where);
  return {make_node(std::move(op), inputs, results[0].shape, results[0].dtype, where)};
}

/// The node's op with these attributes instead, over these inputs; found by its name, as graph files do.
std::vector<Tensor> remade(const Batch& batch, const Node& node, const json& attributes, const std::vector<Tensor>& inputs,
                           const std::vector<Result>& results) {
  Signature signature{.inputs = {}, .results = results};
  for (const Tensor& input : inputs) signature.inputs.push_back({input.shape(), input.dtype()});
  const auto complain = [&](const std::string& got, const std::string& expected) { refuse(batch, node, expected + ", got " + got, ""); };
  formats::AttributeReader reader(attributes, signature, {}, complain);
  Ref<const Op> op = known_ops().make_op(std::string(node.op().class_name()), reader);
  if (!op) refuse(batch, node, "an op that a table knows", "add_formula<formula::Name>(known_ops()) (docs/add_an_op.md)");
  return make_all(std::move(op), inputs, results, node);
}

json attributes_of(const Node& node) {
  formats::AttributeWriter writer;
  node.op().visit(writer);
  return writer.json;
}

std::vector<Tensor> spread(const Batch& batch, Inputs inputs) {
  std::vector<Tensor> out;
  for (const Mapped& x : inputs) out.push_back(batch.spread(x));
  return out;
}

std::vector<Result> with_examples(const Batch& batch, const Node& node) {
  std::vector<Result> out = results_of(node);
  for (Result& result : out) result.shape = batch.with_examples(result.shape, node);
  return out;
}

/// Attributes that count axes of the operands, as they are with one more axis in front.
json behind_examples(json attributes) {
  for (auto& [name, value] : attributes.items()) {
    if (name == "axis") value = value.get<std::int64_t>() + 1;
    if (name == "axes")
      for (json& axis : value) axis = axis.get<std::int64_t>() + 1;
    if (name == "begin" && value.is_array()) value.insert(value.begin(), 0);
    if (name == "step" && value.is_array()) value.insert(value.begin(), 1);
  }
  return attributes;
}

std::vector<Tensor> loop(Batch& batch, const Node& node, Inputs inputs);

/// Ops that leave an axis in front alone.
std::vector<Tensor> in_front(Batch& batch, const Node& node, Inputs inputs) {
  return remade(batch, node, behind_examples(attributes_of(node)), spread(batch, inputs), with_examples(batch, node));
}

/// The same, but for the last input, where the others begin: an i64 ().
std::vector<Tensor> in_front_of_place(Batch& batch, const Node& node, Inputs inputs) {
  if (inputs.back().varies) return loop(batch, node, inputs);
  std::vector<Tensor> all = spread(batch, inputs.first(inputs.size() - 1));
  all.push_back(inputs.back().value);
  return remade(batch, node, behind_examples(attributes_of(node)), all, with_examples(batch, node));
}

std::vector<Tensor> elementwise(Batch& batch, const Node& node, Inputs inputs) {
  const Shape all = batch.with_examples(node.shape(), node);
  std::vector<Tensor> operands;
  for (const Mapped& x : inputs) {
    const bool number = example_of(x).rank() == 0;
    if (number && !x.varies) {
      operands.push_back(x.value);
    } else if (number) {
      Shape ones = Shape::filled(all.rank(), 1);
      ones[0] = batch.count();
      operands.push_back(graph::expand(graph::reshape(x.value, ones), all));
    } else {
      operands.push_back(batch.spread(x));
    }
  }
  return make_all(node.op_ref(), operands, {{all, node.dtype()}}, node);
}

std::vector<Tensor> expand(Batch& batch, const Node& node, Inputs inputs) {
  const Shape all = batch.with_examples(node.shape(), node);
  Shape from = inputs[0].value.shape();
  while (from.rank() < all.rank()) from.insert(1, 1);
  return {graph::expand(graph::reshape(inputs[0].value, from, node.origin().where), all, node.origin().where)};
}

std::vector<Tensor> reshape(Batch& batch, const Node& node, Inputs inputs) {
  return {graph::reshape(inputs[0].value, batch.with_examples(node.shape(), node), node.origin().where)};
}

std::vector<Tensor> permute(Batch&, const Node& node, Inputs inputs) {
  const json attributes = attributes_of(node);
  Dims order{0};
  for (const json& axis : attributes["order"]) order.push_back(axis.get<std::int64_t>() + 1);
  return {graph::permute(inputs[0].value, order, node.origin().where)};
}

/// Axis 0 (the examples) and the one behind it as one.
Tensor merged(const Tensor& x, const Line& where) {
  Shape shape = x.shape();
  shape[1] *= shape[0];
  shape.erase(0);
  return graph::reshape(x, shape, where);
}

/// (N, examples, C, …) as (N, examples * C, …).
Tensor merged_channels(const Tensor& x, const Line& where) {
  Shape shape = x.shape();
  shape[2] *= shape[1];
  shape.erase(1);
  return graph::reshape(x, shape, where);
}

/// The reverse of that at some axis, and the examples brought to the front.
Tensor split_off(const Batch& batch, const Tensor& x, int axis, const Line& where) {
  Shape shape = x.shape();
  shape[axis] = batch.count() > 0 ? shape[axis] / batch.count() : 0;
  shape.insert(axis, batch.count());
  return movedim(graph::reshape(x, shape, where), axis, 0);
}

/// Runs ops whose first axis is a batch already: the examples join it. The inputs from `shared` on do not vary.
std::vector<Tensor> in_batch(Batch& batch, const Node& node, Inputs inputs, std::size_t shared) {
  const Line& where = node.origin().where;
  const std::int64_t samples = example_of(inputs[0])[0];
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape shape = example_of(inputs[i]);
    const bool whole = i >= shared || shape.rank() == 0 || (shape[0] == 1 && samples != 1 && !inputs[i].varies);
    if (whole && inputs[i].varies) return loop(batch, node, inputs);
    Tensor x = whole ? inputs[i].value : batch.spread(inputs[i]);
    if (!whole && shape[0] != samples) {  // a mask of all samples
      Shape each = x.shape();
      each[1] = samples;
      x = graph::expand(x, each, where);
    }
    operands.push_back(whole ? x : merged(x, where));
  }
  std::vector<Result> results = results_of(node);
  for (Result& result : results) result.shape[0] *= batch.count();
  std::vector<Tensor> out = remade(batch, node, attributes_of(node), operands, results);
  for (Tensor& x : out) x = split_off(batch, x, 0, where);
  return out;
}

std::vector<Tensor> images(Batch& batch, const Node& node, Inputs inputs) { return in_batch(batch, node, inputs, inputs.size()); }
/// The same, with tables or weights for all.
std::vector<Tensor> first_in_batch(Batch& batch, const Node& node, Inputs inputs) { return in_batch(batch, node, inputs, 1); }

std::vector<Tensor> attention(Batch& batch, const Node& node, Inputs inputs) {
  const json attributes = attributes_of(node);
  std::vector<Mapped> all(inputs.begin(), inputs.end());
  const int masks = attributes["mask"].get<bool>() + attributes["bias"].get<bool>();
  for (int i = 3; i < 3 + masks; ++i) {  // which broadcast: all four axes are written out
    Mapped& mask = all[static_cast<std::size_t>(i)];
    Shape shape = mask.value.shape();
    while (shape.rank() < 4 + mask.varies) shape.insert(mask.varies ? 1 : 0, 1);
    mask.value = graph::reshape(mask.value, shape, node.origin().where);
  }
  return in_batch(batch, node, all, all.size());
}

std::vector<Tensor> matmul(Batch& batch, const Node& node, Inputs inputs) {
  const Line& where = node.origin().where;
  const bool one_product = node.shape().rank() == 2 && inputs[0].varies && !inputs[1].varies;
  if (!one_product) return in_front(batch, node, inputs);
  Shape shape = node.shape();  // the rows of all examples times one matrix
  shape[0] *= batch.count();
  const Tensor rows =
      remade(batch, node, attributes_of(node), {merged(inputs[0].value, where), inputs[1].value}, {{shape, node.dtype()}})[0];
  return {split_off(batch, rows, 0, where)};
}

/// Images (N, C, …) and weights (O, C / groups, …). One weight for all: the examples are more images; otherwise they are groups.
std::vector<Tensor> convolution(Batch& batch, const Node& node, Inputs inputs) {
  const Line& where = node.origin().where;
  json attributes = attributes_of(node);
  const bool to_weight = node.op().class_name() == "convolution_backward_weight";
  if (!to_weight && !inputs[1].varies) {
    Shape shape = node.shape();
    shape[0] *= batch.count();
    const std::vector<Tensor> operands{merged(inputs[0].value, where), inputs[1].value};
    return {split_off(batch, remade(batch, node, attributes, operands, {{shape, node.dtype()}})[0], 0, where)};
  }
  const auto channels = [&](const Mapped& x) { return merged_channels(movedim(batch.spread(x), 0, 1), where); };
  attributes["groups"] = attributes["groups"].get<std::int64_t>() * batch.count();
  Shape shape = node.shape();
  shape[to_weight ? 0 : 1] *= batch.count();
  const std::vector<Tensor> operands{channels(inputs[0]), to_weight ? channels(inputs[1]) : merged(batch.spread(inputs[1]), where)};
  return {split_off(batch, remade(batch, node, attributes, operands, {{shape, node.dtype()}})[0], to_weight ? 0 : 1, where)};
}

/// x[…, index, …] of examples (inputs x, index). A shared index (rank 1) that varies becomes one index of all examples if x is one table, else one for each element.
std::vector<Tensor> gather(Batch& batch, const Node& node, Inputs inputs) {
  const Line& where = node.origin().where;
  json attributes = attributes_of(node);
  const int axis = attributes["axis"].get<int>();
  const std::vector<Result> results = with_examples(batch, node);
  if (attributes["index"] == "full") return in_front(batch, node, inputs);
  if (!inputs[1].varies) return remade(batch, node, behind_examples(attributes), {inputs[0].value, inputs[1].value}, results);
  if (!inputs[0].varies) {
    Shape shape = node.shape();
    shape[axis] *= batch.count();
    const std::vector<Tensor> operands{inputs[0].value, merged(inputs[1].value, where)};
    return {split_off(batch, remade(batch, node, attributes, operands, {{shape, node.dtype()}})[0], axis, where)};
  }
  Shape along = Shape::filled(results[0].shape.rank(), 1);
  along[0] = batch.count();
  along[axis + 1] = node.shape()[axis];
  attributes["index"] = "full";
  const Tensor index = graph::expand(graph::reshape(inputs[1].value, along, where), results[0].shape, where);
  return remade(batch, node, behind_examples(attributes), {inputs[0].value, index}, results);
}

/// Sums at places of an axis (inputs index, source). If the index varies, each example has its own part of the axis.
std::vector<Tensor> scatter_sum(Batch& batch, const Node& node, Inputs inputs) {
  const Line& where = node.origin().where;
  json attributes = attributes_of(node);
  const auto size = [&](const char* name) { return attributes[name].get<std::int64_t>(); };
  const std::int64_t outer = size("outer"), count = size("count"), length = size("length"), width = size("width"), examples = batch.count();
  const Shape all = batch.with_examples(node.shape(), node);
  if (!inputs[0].varies) {
    attributes["outer"] = outer * examples;
    return remade(batch, node, attributes, {inputs[0].value, inputs[1].value}, {{all, node.dtype()}});
  }
  const Tensor first = graph::index({{examples, count}, {length, 0}, 0}, where);
  const Tensor index = graph::reshape(inputs[0].value + first, {examples * count}, where);
  const Tensor lines = movedim(graph::reshape(batch.spread(inputs[1]), {examples, outer, count, width}, where), 0, 1);
  attributes["count"] = examples * count;
  attributes["length"] = examples * length;
  const Shape parts{outer, examples * length, width};
  const Tensor source = graph::reshape(lines, {outer, examples * count, width}, where);
  const Tensor sums = remade(batch, node, attributes, {index, source}, {{parts, node.dtype()}})[0];
  return {graph::reshape(split_off(batch, sums, 1, where), all, where)};
}

/// The function with its gradient, over all examples. The gradient may have captured values of one example: they are made anew when it is asked for.
std::vector<Tensor> custom(Batch& batch, const Node& node, const CustomOp& op, Inputs inputs) {
  const auto vjp = [own = op.vjp(), captured = batch.stand_ins(), count = batch.count(), loops = batch.loops(), where = batch.where()](
                       const std::vector<Tensor>& xs, const Tensor& y, const Tensor& dy) {
    Batch inner(count, loops, where);
    for (const Batch::StandIn& one : captured) inner.set(one.inside, one.outside);
    const auto stand_in = [&](const Tensor& x) {
      Shape shape = x.shape();
      shape.erase(0);
      const Tensor one = make_node(leaf_op(), {}, shape, x.dtype(), where);
      inner.set(one, {x, true});
      return one;
    };
    std::vector<Tensor> parts;
    {
      const Trace trace(where, Trace::OfBody{});
      std::vector<Tensor> each;
      for (const Tensor& x : xs) each.push_back(stand_in(x));
      const Tensor one_y = stand_in(y);
      parts = own(each, one_y, stand_in(dy));
    }
    for (Tensor& part : parts)
      if (part.defined()) part = inner.spread(inner.values(std::span(&part, 1))[0]);
    return parts;
  };
  const Ref<const Op> all = make<const CustomOp>(std::string(op.name()), op.options(), vjp);
  return make_all(all, spread(batch, inputs), with_examples(batch, node), node);
}

/// A loop over time of all examples: its axis of steps stays in front of theirs.
std::vector<Tensor> scan_of_all(Batch& batch, const Node& node, const LoopOp& op, Inputs inputs) {
  using Input = LoopOp::Input;
  std::vector<Tensor> start, stacks;
  const auto& parameters = op.body().parameters();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (op.input(i) == Input::Carry) start.push_back(batch.spread(inputs[i]));
    if (op.input(i) == Input::Slice) stacks.push_back(inputs[i].varies ? movedim(inputs[i].value, 0, 1) : inputs[i].value);
  }
  const auto body = [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& x) {
    Batch inner(batch.count(), batch.loops(), batch.where());
    std::size_t carried = 0, sliced = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor parameter(parameters[i]);
      if (op.input(i) == Input::Carry) inner.set(parameter, {carry[carried++], true});
      else if (op.input(i) == Input::Slice) inner.set(parameter, {x[sliced++], inputs[i].varies});
      else inner.set(parameter, inputs[i]);
    }
    std::vector<Tensor> results;
    for (const Ref<Node>& result : op.body().results()) results.emplace_back(result);
    Scanned out;
    for (const Mapped& value : inner.values(results)) (out.carry.size() < carry.size() ? out.carry : out.ys).push_back(inner.spread(value));
    return out;
  };
  Scanned all = scan(body, start, stacks, {op.form().length, op.form().reverse}, node.origin().where);
  for (const Tensor& y : all.ys) all.carry.push_back(movedim(y, 0, 1));
  return std::move(all.carry);
}

/// The op for one example after another.
std::vector<Tensor> loop(Batch& batch, const Node& node, Inputs inputs) {
  if (!batch.loops())
    refuse(batch, node, "an op with a rule for many examples", "leave .loops on: the op runs as a loop over the examples");
  std::vector<Tensor> stacks;
  for (const Mapped& x : inputs)
    if (x.varies) stacks.push_back(x.value);
  const auto one = [&](const std::vector<Tensor>&, const std::vector<Tensor>& x) {
    std::vector<Tensor> operands;
    auto next = x.begin();
    for (const Mapped& input : inputs) operands.push_back(input.varies ? *next++ : input.value);
    return Scanned{{}, make_all(node.op_ref(), operands, results_of(node), node)};
  };
  return scan(one, {}, stacks, {}, node.origin().where).ys;
}

using Rule = std::vector<Tensor> (*)(Batch&, const Node&, Inputs);

/// The rules by the name of an op's class.
const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule>& table =
      *new std::map<std::string_view, Rule>{{"expand", expand},
                                            {"reshape", reshape},
                                            {"permute", permute},
                                            {"slice", in_front},
                                            {"diagonal", in_front},
                                            {"windows", in_front},
                                            {"pad", in_front},
                                            {"concat", in_front},
                                            {"scatter", in_front},
                                            {"sort", in_front},
                                            {"argmax", in_front},
                                            {"argmin", in_front},
                                            {"cumsum", in_front},
                                            {"cumprod", in_front},
                                            {"cummax", in_front},
                                            {"cummin", in_front},
                                            {"fourier", in_front},
                                            {"lu", in_front},
                                            {"cholesky", in_front},
                                            {"triangular_solve", in_front},
                                            {"qr", in_front},
                                            {"eigh", in_front},
                                            {"eig", in_front},
                                            {"svd", in_front},
                                            {"dynamic_slice", in_front_of_place},
                                            {"update_slice", in_front_of_place},
                                            {"gather", gather},
                                            {"scatter_add", scatter_sum},
                                            {"matmul", matmul},
                                            {"convolution", convolution},
                                            {"convolution_backward_data", convolution},
                                            {"convolution_backward_weight", convolution},
                                            {"convolution_direct", first_in_batch},
                                            {"convolution_implicit_gemm", first_in_batch},
                                            {"convolution_tiled", first_in_batch},
                                            {"convolution_unrolled", first_in_batch},
                                            {"max_pool", images},
                                            {"max_pool_backward", images},
                                            {"avg_pool", images},
                                            {"avg_pool_backward", images},
                                            {"resample", first_in_batch},
                                            {"attention", attention},
                                            {"attention_backward", attention}};
  return table;
}

}  // namespace

std::vector<Tensor> over_examples(Batch& batch, const Node& node, std::span<const Mapped> inputs) {
  const Op& op = node.op();
  if (effect_of(op) != Effect::None)
    refuse(batch, node, "only ops that do nothing beside their results", "call it outside of the function");
  if (batch.count() == 0) {
    std::vector<Tensor> out;
    for (const Result& result : with_examples(batch, node)) out.push_back(graph::full(result.shape, 0, result.dtype, node.origin().where));
    return out;
  }
  switch (op.role()) {
    case Role::Elementwise: return elementwise(batch, node, inputs);
    case Role::Reduce: return in_front(batch, node, inputs);
    case Role::Barrier: return {batch.spread(inputs[0])};
    case Role::Stop: return make_all(node.op_ref(), {batch.spread(inputs[0])}, with_examples(batch, node), node);
    case Role::Same:
      if (const CustomOp* const own = CustomOp::of(op)) return custom(batch, node, *own, inputs);
      return spread(batch, inputs.first(std::max<std::size_t>(node.results().size(), 1)));  // a checkpoint: its results are kept
    default: break;
  }
  if (const LoopOp* const steps = LoopOp::of(op)) return scan_of_all(batch, node, *steps, inputs);
  if (op.name() == "identity") return make_all(node.op_ref(), {inputs[0].value}, with_examples(batch, node), node);
  const auto rule = rules().find(op.class_name());
  return rule == rules().end() ? loop(batch, node, inputs) : rule->second(batch, node, inputs);
}

}  // namespace tegula::functional
