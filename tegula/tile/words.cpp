// The free functions of builder.h: broadcasting, result types, and the Instruction each of them emits.

#include <utility>

#include "tegula/core/error.h"
#include "tegula/tile/builder.h"
#include "tegula/tile/rules.h"
#include "tegula/tile/sort_order.h"

namespace tegula::tile {
namespace {

[[noreturn]] void fail(const Builder& builder, std::string_view op, std::string got, std::string expected) {
  throw Error({.op = "tile." + std::string(op), .got = std::move(got), .expected = std::move(expected), .where = builder.location()});
}

Builder& builder_of(std::string_view op, std::initializer_list<Value> values) {
  Builder* builder = nullptr;
  for (const Value value : values) {
    if (value.is_empty())
      throw Error({.op = "tile." + std::string(op),
                   .got = "an empty Value",
                   .expected = "a Value made by a Builder",
                   .where = builder ? builder->location() : Line{}});
    if (builder != nullptr && value.builder() != builder) fail(*builder, op, "values of two programs", "values of one Builder");
    builder = value.builder();
  }
  return *builder;
}

int axis_of(const Builder& builder, std::string_view op, Value x, int axis, int rank) {
  const auto normal = normalize_axis(axis, rank);
  if (!normal)
    fail(builder, op, "axis " + std::to_string(axis) + " for " + to_string(x.type()),
         "an axis from " + std::to_string(-rank) + " to " + std::to_string(rank - 1));
  return *normal;
}

/// Tiles of different shapes brought to one shape; scalars are left as they are. Gives the shape of the result.
Shape unify(Builder& builder, Word word, std::initializer_list<Value*> operands) {
  Shape shape;
  for (const Value* x : operands) {
    const auto common = broadcast(shape, x->shape());
    if (!common) {
      std::string got;
      for (const Value* y : operands) got += (got.empty() ? "" : ", ") + to_string(y->type());
      fail(builder, name(word), std::move(got), "shapes that broadcast: sizes equal or 1");
    }
    shape = *common;
  }
  for (Value* x : operands) {
    if (!x->shape().empty()) *x = broadcast(*x, shape);
  }
  return shape;
}

bool is_comparison(Word word) { return word >= Word::Eq && word <= Word::Ge; }

/// pointer ± offset; the offset may also stand first in a sum.
Value move_pointer(Builder& builder, Word word, Value pointer, Value offset) {
  if (!pointer.type().pointer && word == Word::Add) std::swap(pointer, offset);
  if (!pointer.type().pointer || offset.type().pointer || !is_integer(offset.dtype())) {
    fail(builder, name(word), to_string(pointer.type()) + ", " + to_string(offset.type()), "a pointer and an integer offset");
  }
  offset = cast(offset, i64);
  const Shape shape = unify(builder, word, {&pointer, &offset});
  return builder.emit(word, {pointer.dtype(), true, shape}, {pointer.id(), offset.id()});
}

}  // namespace

Value unary(Word word, Value x) {
  Builder& builder = builder_of(name(word), {x});
  Type type = x.type();
  if (word == Word::IsNan || word == Word::IsInf) type.dtype = boolean;
  return builder.emit(word, type, {x.id()});
}

Value binary(Word word, Value a, Value b) {
  Builder& builder = builder_of(name(word), {a, b});
  if ((a.type().pointer || b.type().pointer) && (word == Word::Add || word == Word::Sub)) return move_pointer(builder, word, a, b);
  const Shape shape = unify(builder, word, {&a, &b});
  return builder.emit(word, {is_comparison(word) ? boolean : a.dtype(), false, shape}, {a.id(), b.id()});
}

Value select(Value condition, Value a, Value b) {
  Builder& builder = builder_of("select", {condition, a, b});
  const Shape shape = unify(builder, Word::Select, {&condition, &a, &b});
  return builder.emit(Word::Select, {a.dtype(), false, shape}, {condition.id(), a.id(), b.id()});
}

Value fma(Value a, Value b, Value c) {
  Builder& builder = builder_of("fma", {a, b, c});
  const Shape shape = unify(builder, Word::Fma, {&a, &b, &c});
  return builder.emit(Word::Fma, {a.dtype(), false, shape}, {a.id(), b.id(), c.id()});
}

namespace {

/// f64 to f32, rounded to odd (Boldo and Melquiond, 2008): toward zero, and what is lost sets the last bit. Rounded again to fewer bits this is what x is,
/// rounded once.
Value rounded_to_odd(Value x) {
  const Value near = cast(x, f32), back = cast(near, f64), bits = bitcast(near, i32);
  const Value toward_zero = select(unary(Word::Abs, back) > unary(Word::Abs, x), bits - 1, bits);
  return bitcast(select(back == x, bits, binary(Word::Or, toward_zero, number(1, toward_zero))), f32);
}

}  // namespace

Value cast(Value x, DType dtype) {
  Builder& builder = builder_of("cast", {x});
  if (x.dtype() == f64 && is_float(dtype) && !is_compute_type(dtype)) return narrow(rounded_to_odd(x), dtype);
  if (!is_compute_type(dtype)) return narrow(cast(x, compute_type(dtype)), dtype);
  return builder.emit(Word::Cast, {dtype, false, x.shape()}, {x.id()});
}

Value narrow(Value x, DType stored) {
  Builder& builder = builder_of("narrow", {x});
  if (stored == x.dtype() && !x.type().pointer) return x;
  return builder.emit(Word::Narrow, x.type(), {x.id()}, static_cast<std::int64_t>(stored));
}

Value bitcast(Value x, DType dtype) { return builder_of("bitcast", {x}).emit(Word::Bitcast, {dtype, false, x.shape()}, {x.id()}); }

Value number(double value, Value like) {
  Builder& builder = builder_of("number", {like});
  return builder.constant(value, like.type().pointer ? i64 : like.dtype());
}

Value broadcast(Value x, const Shape& shape) {
  Builder& builder = builder_of("broadcast", {x});
  Type type = x.type();
  if (type.shape == shape) return x;
  if (broadcast(type.shape, shape) != shape) {
    fail(builder, "broadcast", to_string(type) + " to shape " + to_string(shape), "sizes that are equal or 1");
  }
  if (!type.shape.empty() && type.shape.rank() < shape.rank()) {
    Shape padded = type.shape;
    while (padded.rank() < shape.rank()) padded.insert(0, 1);
    x = reshape(x, padded);
  }
  return builder.emit(Word::Broadcast, {type.dtype, type.pointer, shape}, {x.id()});
}

Value expand_dims(Value x, int axis) {
  Builder& builder = builder_of("expand_dims", {x});
  Type type = x.type();
  axis = axis_of(builder, "expand_dims", x, axis, type.shape.rank() + 1);
  type.shape.insert(axis, 1);
  return builder.emit(Word::ExpandDims, type, {x.id()}, axis);
}

Value reshape(Value x, const Shape& shape) {
  return builder_of("reshape", {x}).emit(Word::Reshape, {x.dtype(), x.type().pointer, shape}, {x.id()});
}

Value transpose(Value x) {
  Builder& builder = builder_of("transpose", {x});
  Type type = x.type();
  if (type.shape.rank() == 2) type.shape = {type.shape[1], type.shape[0]};
  return builder.emit(Word::Transpose, type, {x.id()});
}

Value reduce(Value x, int axis, Reduction kind) {
  Builder& builder = builder_of("reduce", {x});
  Type type = x.type();
  axis = axis_of(builder, "reduce", x, axis, type.shape.rank());
  type.shape[axis] = 1;
  return builder.emit(Word::Reduce, type, {x.id()}, axis, kind);
}

Value arg_reduce(Value x, int axis, Reduction kind) {
  Builder& builder = builder_of("arg_reduce", {x});
  Type type = x.type();
  axis = axis_of(builder, "arg_reduce", x, axis, type.shape.rank());
  type.shape[axis] = 1;
  type.dtype = i64;
  return builder.emit(Word::ArgReduce, type, {x.id()}, axis, kind);
}

Value scan(Value x, int axis, Reduction kind) {
  Builder& builder = builder_of("scan", {x});
  return builder.emit(Word::Scan, x.type(), {x.id()}, axis_of(builder, "scan", x, axis, x.shape().rank()), kind);
}

Value sort(Value x, int axis, bool descending) {
  Builder& builder = builder_of("sort", {x});
  axis = axis_of(builder, "sort", x, axis, x.shape().rank());
  return builder.emit(Word::Sort, x.type(), {x.id()}, axis, Reduction::Sum, SortOrder{descending}.packed());
}

Value argsort(Value x, int axis, bool descending) {
  Builder& builder = builder_of("argsort", {x});
  axis = axis_of(builder, "argsort", x, axis, x.shape().rank());
  return builder.emit(Word::ArgSort, {i64, false, x.shape()}, {x.id()}, axis, Reduction::Sum, SortOrder{descending}.packed());
}

Value dot(Value a, Value b, Value accumulator) {
  return builder_of("dot", {a, b, accumulator}).emit(Word::Dot, accumulator.type(), {a.id(), b.id(), accumulator.id()});
}

Value gather(Value x, Value places, int axis) {
  Builder& builder = builder_of("gather", {x, places});
  axis = axis_of(builder, "gather", x, axis, x.shape().rank());
  return builder.emit(Word::Gather, {x.dtype(), false, places.shape()}, {x.id(), cast(places, i64).id()}, axis);
}

Value histogram(Value x, std::int64_t bins, Value mask) {
  Builder& builder = builder_of("histogram", {x});
  std::vector<Id> operands;
  for (const Value value : {x, mask}) {
    if (value.is_empty()) continue;
    const Value whole = broadcast(value, x.shape());
    operands.push_back(reshape(operands.empty() ? cast(whole, i64) : whole, {numel(x.shape())}).id());
  }
  return builder.emit(Word::Histogram, {i32, false, {bins}}, std::move(operands));
}

Value hint(Value x, HintKind kind, std::int64_t number) {
  return builder_of("hint", {x}).emit(Word::Hint, x.type(), {x.id()}, static_cast<std::int64_t>(kind), Reduction::Sum, number);
}

Value random_bits(Value seed, Value index) {
  Builder& builder = builder_of("random_bits", {seed, index});
  return builder.emit(Word::RandomBits, {i32, false, index.shape()}, {cast(seed, i64).id(), cast(index, i64).id()});
}

}  // namespace tegula::tile
