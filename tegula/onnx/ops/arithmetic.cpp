// Operators of two and more operands, element by element.

#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/onnx/operators.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// The second operand; before operator set 7 it had to be asked for to broadcast, from an axis of the first one on.
Tensor second(const Call& call) {
  Tensor b = call[1];
  if (call.opset() >= 7 || !call.has("axis")) return b;
  const int axis = call.axis(call.integer("axis", 0), call[0].rank());
  Shape shape = b.shape();
  while (axis + shape.rank() < call[0].rank()) shape.push_back(1);
  return reshape(b, shape);
}

/// Integers truncate toward zero.
Tensor divide(const Tensor& a, const Tensor& b) {
  if (is_float(a.dtype())) return a / b;
  const Tensor down = floor_divide(a, b);
  if (is_unsigned(a.dtype())) return down;
  const Tensor is_low = (down * b != a) && ((a < 0) != (b < 0));
  return down + cast(is_low, a.dtype());
}

/// The result has the base's type.
Tensor power(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype() || is_float(a.dtype())) return pow(a, cast(b, a.dtype()));
  if (is_integer(b.dtype())) return pow(a, cast(b, a.dtype()));
  return cast(pow(cast(a, f64), cast(b, f64)), a.dtype());
}

Tensor modulo(const Call& call) {
  if (call.flag("fmod")) return fmod(call[0], call[1]);
  if (is_float(call[0].dtype())) call.refuse("floats without fmod", "fmod = 1");
  return remainder(call[0], call[1]);
}

Tensor shifted(const Call& call) {
  const std::string direction = call.text("direction");
  if (direction != "LEFT" && direction != "RIGHT") call.refuse("the direction " + direction, "LEFT or RIGHT");
  const Tensor x = call[0], amount = cast(call[1], x.dtype());
  const std::int64_t width = 8 * static_cast<std::int64_t>(size_of(x.dtype()));
  const Tensor moved = direction == "LEFT" ? x << amount : x >> amount;
  return cast(where(amount < width, moved, 0), x.dtype());
}

/// The slope broadcasts to x; before operator set 7 it lay along axis 1.
Tensor prelu_of(const Call& call) {
  const Tensor x = call[0];
  Tensor slope = call[1];
  if (call.opset() < 7 && slope.rank() == 1 && slope.numel() > 1 && x.rank() > 2) {
    Shape shape = Dims::filled(x.rank() - 1, 1);
    shape[0] = slope.numel();
    slope = reshape(slope, shape);
  }
  return where(x < 0, x * slope, x);
}

template <class F>
Tensor joined(const Call& call, F f) {
  Tensor out = call[0];
  for (std::size_t i = 1; i < call.size(); ++i) out = f(out, call[i]);
  return out;
}

Tensor clipped(const Call& call) {
  Tensor x = call[0];
  const DType dtype = x.dtype();
  const auto number = [&](double value) { return cast(tegula::Tensor(value), dtype); };
  Tensor low = call.maybe(1), high = call.maybe(2);
  if (call.has("min")) low = number(call.number("min", 0));
  if (call.has("max")) high = number(call.number("max", 0));
  for (const Tensor& bound : {low, high})
    if (bound.defined() && bound.numel() != 1) call.refuse("a bound of shape " + to_string(bound.shape()), "one number");
  if (low.defined()) x = maximum(x, reshape(low, {}));
  if (high.defined()) x = minimum(x, reshape(high, {}));
  return x;
}

constexpr std::string_view kOld = "axis broadcast consumed_inputs";  // of operator sets before 7

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"Add", [](Call& c) -> Results { return c[0] + second(c); }, kOld},
    {"Sub", [](Call& c) -> Results { return c[0] - second(c); }, kOld},
    {"Mul", [](Call& c) -> Results { return c[0] * second(c); }, kOld},
    {"Div", [](Call& c) -> Results { return divide(c[0], second(c)); }, kOld},
    {"Pow", [](Call& c) -> Results { return power(c[0], second(c)); }, kOld},
    {"Mod", [](Call& c) -> Results { return modulo(c); }, "fmod"},
    {"PRelu", [](Call& c) -> Results { return prelu_of(c); }, "consumed_inputs"},
    {"And", [](Call& c) -> Results { return c[0] && second(c); }, kOld},
    {"Or", [](Call& c) -> Results { return c[0] || second(c); }, kOld},
    {"Xor", [](Call& c) -> Results { return logical_xor(c[0], second(c)); }, kOld},
    {"Equal", [](Call& c) -> Results { return c[0] == second(c); }, kOld},
    {"Less", [](Call& c) -> Results { return c[0] < second(c); }, kOld},
    {"LessOrEqual", [](Call& c) -> Results { return c[0] <= c[1]; }},
    {"Greater", [](Call& c) -> Results { return c[0] > second(c); }, kOld},
    {"GreaterOrEqual", [](Call& c) -> Results { return c[0] >= c[1]; }},
    {"BitwiseAnd", [](Call& c) -> Results { return c[0] & c[1]; }},
    {"BitwiseOr", [](Call& c) -> Results { return c[0] | c[1]; }},
    {"BitwiseXor", [](Call& c) -> Results { return c[0] ^ c[1]; }},
    {"BitShift", [](Call& c) -> Results { return shifted(c); }, "direction"},
    {"Max", [](Call& c) -> Results { return joined(c, [](const Tensor& a, const Tensor& b) { return maximum(a, b); }); }, "consumed_inputs"},
    {"Min", [](Call& c) -> Results { return joined(c, [](const Tensor& a, const Tensor& b) { return minimum(a, b); }); }, "consumed_inputs"},
    {"Sum", [](Call& c) -> Results { return joined(c, [](const Tensor& a, const Tensor& b) { return a + b; }); }, "consumed_inputs"},
    {"Mean", [](Call& c) -> Results { return joined(c, [](const Tensor& a, const Tensor& b) { return a + b; }) / static_cast<double>(c.size()); }, "consumed_inputs"},
    {"Where", [](Call& c) -> Results { return where(c[0], c[1], c[2]); }},
    {"Clip", [](Call& c) -> Results { return clipped(c); }, "min max consumed_inputs", looked({1, 2})},
};
// clang-format on

}  // namespace

Operators arithmetic_operators() { return kOperators; }

}  // namespace tegula::onnx
