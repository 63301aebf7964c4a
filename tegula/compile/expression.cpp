#include "tegula/compile/expression.h"

#include <bit>
#include <utility>

#include "tegula/core/rounded.h"
#include "tegula/tile/builder.h"

namespace tegula::compile {
namespace {

using Kind = Expression::Word::Kind;

}  // namespace

int Expression::add(Word word) {
  words.push_back(std::move(word));
  return static_cast<int>(words.size()) - 1;
}

Expression Expression::of_numbers(Ref<const Op> op, std::span<const int> inputs, DType dtype) {
  Expression out;
  Word last{.kind = Kind::Op, .op = std::move(op), .dtype = dtype};
  for (const int input : inputs) last.operands.push_back(out.add({.kind = Kind::Number, .input = input, .dtype = DType::f64}));
  out.add(std::move(last));
  return out;
}

tile::Value emit(const Expression& expression, tile::Builder& builder, const tile::Value& places, int axis, const ReadWord& read) {
  std::vector<tile::Value> values;
  const auto value = [&](int word) { return values[static_cast<std::size_t>(word)]; };
  for (const Expression::Word& word : expression.words) {
    switch (word.kind) {
      case Kind::Memory:
      case Kind::Number:
      case Kind::Result: values.push_back(read(word)); break;
      case Kind::Index: {
        const tile::Value scaled = word.stride == 1 ? places : places * builder.constant(word.stride, DType::i64);
        values.push_back(word.offset == 0 ? scaled : scaled + builder.constant(word.offset, DType::i64));
        break;
      }
      case Kind::Reduce: {
        const tile::Value x = tile::broadcast(value(word.operands[0]), places.shape());
        values.push_back(tile::reduce(x, axis, static_cast<const ReduceOp&>(*word.op).kind()));
        break;
      }
      case Kind::Op: {
        std::vector<tile::Value> operands;
        for (const int operand : word.operands) operands.push_back(value(operand));
        tile::Value y = static_cast<const ElementwiseOp&>(*word.op).emit(builder, operands, word.dtype);
        if (is_integer(word.dtype) && tile::compute_type(word.dtype) != word.dtype) y = tile::narrow(y, word.dtype);
        values.push_back(y);
      }
    }
  }
  const tile::Value last = values.back();
  return places.is_empty() || last.shape() == places.shape() ? last : tile::broadcast(last, places.shape());
}

tile::Value constant_parameter(tile::Builder& builder, const std::string& name, DType dtype, bool asynchronous) {
  const DType computed = tile::compute_type(dtype);
  return asynchronous ? builder.load(builder.pointer(name, computed, false)) : builder.scalar(name, computed);
}

bool append(runtime::Expression& to, const ElementwiseOp& op, DType dtype, std::span<const int> operands) {
  if (op.has_check()) return false;
  return runtime::append(to, operands, dtype,
                         [&](tile::Builder& builder, std::span<const tile::Value> x) { return op.emit(builder, x, dtype); });
}

double number_of(const Expression& expression, std::span<const std::uint64_t> numbers) {
  std::vector<double> values, operands;
  for (const Expression::Word& word : expression.words) {
    if (word.kind == Kind::Number) {
      values.push_back(std::bit_cast<double>(numbers[static_cast<std::size_t>(word.input)]));
      continue;
    }
    operands.clear();
    for (const int operand : word.operands) operands.push_back(values[static_cast<std::size_t>(operand)]);
    const double y = static_cast<const ElementwiseOp&>(*word.op).reference(operands);
    values.push_back(std::bit_cast<double>(rounded(y, word.dtype).bits(DType::f64)));
  }
  return values.back();
}

}  // namespace tegula::compile
