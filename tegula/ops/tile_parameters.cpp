#include "tegula/ops/tile_parameters.h"

#include "tegula/core/error.h"

namespace tegula::tile::language {

Arguments::Arguments(const std::string& name, const Dims& grid, const Line& where) : name_(name), where_(where) { launch.grid = grid; }

void Arguments::require(const std::string& what, std::optional<DType> got, std::optional<DType> wanted) const {
  if (wanted ? !got || got == wanted : got.has_value()) return;
  throw Error({.op = name_,
               .got = got ? what + " of " + std::string(tegula::name(*got)) : what + " of no dtype",
               .expected = wanted ? std::string(tegula::name(*wanted)) + ", as parameter " + std::to_string(number_) + " says"
                                  : "out(shape, fill, dtype)",
               .advice = wanted ? "cast it, or make the kernel a template of its dtype" : "",
               .where = where_});
}

void Arguments::input(const Tensor& x, std::optional<DType> dtype) {
  if (dtype) require("a tensor", x.dtype(), dtype);
  ++number_;
  inputs.push_back(x);
}

void Arguments::output(const OutShape& shape, std::optional<DType> dtype) {
  require("a result", shape.dtype, dtype);
  ++number_;
  launch.outputs.push_back({shape.shape, dtype ? *dtype : *shape.dtype, shape.fill});
}

void Arguments::update(const Tensor& x, std::optional<DType> dtype) {
  if (dtype) require("a Variable", x.dtype(), dtype);
  ++number_;
  launch.outputs.push_back({.shape = x.shape(where_), .dtype = x.dtype(), .begins_as = static_cast<int>(inputs.size())});
  inputs.push_back(x);
}

Content next_input(Cursor& cursor) {
  const Value pointer = cursor.arguments.inputs[cursor.input++];
  return {pointer, pointer.dtype()};
}
Content next_output(Cursor& cursor) {
  const Value pointer = cursor.arguments.outputs[cursor.output++];
  return {pointer, pointer.dtype()};
}
Content next_number(Cursor& cursor) { return {cursor.arguments.numbers[cursor.number++], i64}; }
Content next_real(Cursor& cursor) { return {cursor.arguments.reals[cursor.real++], f32}; }

void Arguments::shaped(const ParameterFacts& facts, const Shape& shape, const Shape* block) {
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw Error({.op = name_, .got = got, .expected = expected + ", as parameter " + std::to_string(number_) + " says", .where = where_});
  };
  if (shape.rank() != facts.rank) refuse("a tensor of shape " + to_string(shape), "rank " + std::to_string(facts.rank));
  if (block && block->rank() != facts.rank) refuse("blocks of " + to_string(*block), "rank " + std::to_string(facts.rank));
  launch.numbers.insert(launch.numbers.end(), shape.begin(), shape.end());
  if (block) launch.constants.insert(launch.constants.end(), block->begin(), block->end());
}

TensorContents next_tensor(Cursor& cursor, const ParameterFacts& facts) {
  TensorContents contents;
  if (facts.role == Role::Update) ++cursor.input;
  contents.pointer = facts.role == Role::Input ? next_input(cursor) : next_output(cursor);
  for (int axis = 0; axis < facts.rank; ++axis) contents.sizes.push_back(next_number(cursor));
  contents.strides.resize(contents.sizes.size());
  if (facts.role == Role::Input) {
    for (Content& stride : contents.strides) stride = {cursor.arguments.strides[cursor.stride++], i64};
  } else if (facts.rank > 0) {  // dense
    Builder& builder = *contents.pointer.value.builder();
    Value stride = builder.constant(std::int64_t{1}, i64);
    for (std::size_t axis = contents.strides.size(); axis-- > 0; stride = stride * contents.sizes[axis].value)
      contents.strides[axis] = {stride, i64};
  }
  if (!facts.blocks) return contents;
  Dims block;
  for (int axis = 0; axis < facts.rank; ++axis) block.push_back(cursor.arguments.constants[cursor.constant++]);
  contents.block = block;
  return contents;
}

}  // namespace tegula::tile::language
