// Constants, and numbers in other types.

#include <cstring>

#include "tegula/onnx/operators.h"
#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/dropout.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/shape/index.h"

namespace tegula::onnx {
namespace {

Value stored(const StoredArray& array) {
  Value out(from_array(array.array));
  if (array.type != type_of(array.array.dtype)) out.narrow = array.type;
  return out;
}

Results constant_of(const Call& call) {
  if (const StoredArray* array = call.has("sparse_value") ? call.array("sparse_value") : call.array("value")) {
    if (!array->array.buffer) call.refuse("a tensor of " + name_of(array->type), "a type that tensors have here");
    return stored(*array);
  }
  if (call.has("value_float")) return cast(tegula::Tensor(call.number("value_float", 0)), f32);
  if (call.has("value_int")) return tegula::Tensor(call.integer("value_int", 0));
  if (call.has("value_ints")) return constant(call.integers("value_ints"));
  if (call.has("value_floats")) return tensor(call.numbers("value_floats"));
  call.refuse("a constant without a value that tensors have", "value, value_int, value_ints, value_float, value_floats or sparse_value");
}

Results filled(const Call& call) {
  const Shape shape = shape_of(call, call.integers(0));
  const StoredArray* value = call.array("value");
  if (!value) return zeros(shape);
  if (!value->array.buffer || value->array.size() != 1) call.refuse("a value that is not one number", "a tensor with one element");
  HostArray one = value->array;
  one.shape = {};
  return full(shape, from_array(one), one.dtype);
}

Results dropped(Call& call) {
  const Tensor x = call[0];
  const bool trains = call.opset() >= 12 && call.has(2) && call.integer(2) != 0;
  const double ratio = call.opset() >= 12 ? (call.has(1) ? call.number(1) : 0.5) : call.number("ratio", 0.5);
  if (!trains || ratio == 0) return {std::vector<Tensor>{x, ones(x.shape(), call.opset() >= 7 ? boolean : x.dtype())}};
  const Tensor kept = bernoulli(1 - ratio, x.shape());
  return {std::vector<Tensor>{where(kept, x / (1 - ratio), 0.0), kept}};
}

Results identity(const Call& call) { return call.has(0) ? call.value(0) : Value(); }

/// Converts the first input to the type of the second, whose values do not matter.
Results cast_like(const Call& call) {
  Value out = converted(call, call.value(0), type_of(call.value(1)), call.flag("saturate", true));
  out.known = call.value(0).known;
  return out;
}

/// The bits of one type as those of another one of the same width.
Results bits_as(const Call& call) {
  const auto to = static_cast<Type>(call.integer("to", 0));
  const HostArray x = call.look(0);
  const DType dtype = dtype_of(to);
  if (size_of(dtype) != size_of(x.dtype) || call.value(0).narrow != Type::Undefined || to != type_of(dtype))
    call.refuse("the bits of " + std::string(name(x.dtype)) + " as " + name_of(to), "types of one width, of whole bytes");
  HostArray out = HostArray::empty(dtype, x.shape);
  if (x.bytes() > 0) std::memcpy(out.buffer->data(), x.buffer->data(), x.bytes());
  return from_array(out);
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"Constant", [](Call& c) -> Results { return constant_of(c); }, "value sparse_value value_int value_ints value_float value_floats value_string value_strings"},
    {"ConstantOfShape", [](Call& c) -> Results { return filled(c); }, "value", looked({0})},
    {"Cast", [](Call& c) -> Results { return converted(c, c.value(0), static_cast<Type>(c.integer("to", 0)), c.flag("saturate", true)); }, "to saturate round_mode"},
    {"CastLike", [](Call& c) -> Results { return cast_like(c); }, "saturate round_mode"},
    {"BitCast", [](Call& c) -> Results { return bits_as(c); }, "to"},
    {"Identity", [](Call& c) -> Results { return identity(c); }},
    {"Dropout", [](Call& c) -> Results { return dropped(c); }, "ratio seed is_test consumed_inputs", looked({1, 2}), 0, true},
};
// clang-format on

}  // namespace

Operators type_operators() { return kOperators; }

}  // namespace tegula::onnx
