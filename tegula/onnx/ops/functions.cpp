// Functions of one operand, element by element.

#include "tegula/onnx/operators.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// NaN stays NaN.
Tensor sign_of(const Tensor& x) { return is_float(x.dtype()) ? where(isnan(x), x, sign(x)) : sign(x); }

Tensor gelu_of(const Call& call) {
  const std::string kind = call.text("approximate", "none");
  if (kind != "none" && kind != "tanh") call.refuse("approximate = " + kind, "none or tanh");
  return gelu(call[0], kind == "tanh" ? Approximate::Tanh : Approximate::None);
}

/// max(0, min(1, alpha * x + beta)).
Tensor hard_sigmoid(const Tensor& x, double alpha, double beta) { return clamp(x * alpha + beta, 0.0, 1.0); }

Tensor is_infinite(const Call& call) {
  const Tensor x = call[0];
  const bool negative = call.flag("detect_negative", true), positive = call.flag("detect_positive", true);
  if (negative && positive) return isinf(x);
  if (!negative && !positive) return isinf(x) && isnan(x);
  return isinf(x) && (positive ? x > 0 : x < 0);
}

Tensor selu_of(const Call& call) {
  const double alpha = call.number("alpha", 1.67326319217681884765625), gamma = call.number("gamma", 1.05070102214813232421875);
  return elu(call[0], alpha) * gamma;
}

Tensor shrunk(const Call& call) {
  const double lambda = call.number("lambd", 0.5), bias = call.number("bias", 0);
  const Tensor x = call[0];
  if (is_float(x.dtype())) return where(x < -lambda, x + bias, where(x > lambda, x - bias, 0.0));
  const Tensor wide = cast(x, f64);
  return cast(where(wide < -lambda, wide + bias, where(wide > lambda, wide - bias, 0.0)), x.dtype());
}

/// Softmax and its kin: before operator set 13 over all axes from `axis` on, as one.
template <class F>
Tensor over_axis(const Call& call, F f) {
  const Tensor x = call[0];
  const bool is_flat = call.opset() < 13;
  const std::int64_t given = call.integer("axis", is_flat ? 1 : -1);
  if (!is_flat) return f(x, call.axis(given, x.rank()));
  const int axis = given == x.rank() ? x.rank() : call.axis(given, x.rank());
  const Shape rows{numel(x.shape(), 0, axis), numel(x.shape(), axis, x.rank())};
  return reshape(f(reshape(x, rows), 1), x.shape());
}

Tensor hardmax(const Tensor& x, int axis) {
  const Tensor best = argmax(x, axis, Keep::Yes);
  return cast(iota(x.shape(), axis) == best, x.dtype());
}

constexpr std::string_view kOld = "consumed_inputs";  // of operator sets before 6

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"Abs", [](Call& c) -> Results { return abs(c[0]); }, kOld},
    {"Acos", [](Call& c) -> Results { return acos(c[0]); }},
    {"Acosh", [](Call& c) -> Results { return acosh(c[0]); }},
    {"Asin", [](Call& c) -> Results { return asin(c[0]); }},
    {"Asinh", [](Call& c) -> Results { return asinh(c[0]); }},
    {"Atan", [](Call& c) -> Results { return atan(c[0]); }},
    {"Atanh", [](Call& c) -> Results { return atanh(c[0]); }},
    {"BitwiseNot", [](Call& c) -> Results { return ~c[0]; }},
    {"Ceil", [](Call& c) -> Results { return ceil(c[0]); }, kOld},
    {"Celu", [](Call& c) -> Results { return celu(c[0], c.number("alpha", 1)); }, "alpha"},
    {"Cos", [](Call& c) -> Results { return cos(c[0]); }},
    {"Cosh", [](Call& c) -> Results { return cosh(c[0]); }},
    {"Elu", [](Call& c) -> Results { return elu(c[0], c.number("alpha", 1)); }, "alpha consumed_inputs"},
    {"Erf", [](Call& c) -> Results { return erf(c[0]); }},
    {"Exp", [](Call& c) -> Results { return exp(c[0]); }, kOld},
    {"Floor", [](Call& c) -> Results { return floor(c[0]); }, kOld},
    {"Gelu", [](Call& c) -> Results { return gelu_of(c); }, "approximate"},
    {"HardSigmoid", [](Call& c) -> Results { return hard_sigmoid(c[0], c.number("alpha", 0.2), c.number("beta", 0.5)); }, "alpha beta consumed_inputs"},
    {"HardSwish", [](Call& c) -> Results { return c[0] * hard_sigmoid(c[0], 1.0 / 6, 0.5); }},
    {"Hardmax", [](Call& c) -> Results { return over_axis(c, hardmax); }, "axis"},
    {"IsInf", [](Call& c) -> Results { return is_infinite(c); }, "detect_negative detect_positive"},
    {"IsNaN", [](Call& c) -> Results { return isnan(c[0]); }},
    {"LeakyRelu", [](Call& c) -> Results { return leaky_relu(c[0], c.number("alpha", 0.01)); }, "alpha consumed_inputs"},
    {"Log", [](Call& c) -> Results { return log(c[0]); }, kOld},
    {"LogSoftmax", [](Call& c) -> Results { return over_axis(c, [](const Tensor& x, int axis) { return log_softmax(x, axis); }); }, "axis"},
    {"Mish", [](Call& c) -> Results { return mish(c[0]); }},
    {"Neg", [](Call& c) -> Results { return -c[0]; }, kOld},
    {"Not", [](Call& c) -> Results { return !c[0]; }},
    {"Reciprocal", [](Call& c) -> Results { return reciprocal(c[0]); }, kOld},
    {"Relu", [](Call& c) -> Results { return relu(c[0]); }, kOld},
    {"Round", [](Call& c) -> Results { return round(c[0]); }},
    {"Selu", [](Call& c) -> Results { return selu_of(c); }, "alpha gamma consumed_inputs"},
    {"Shrink", [](Call& c) -> Results { return shrunk(c); }, "lambd bias"},
    {"Sigmoid", [](Call& c) -> Results { return sigmoid(c[0]); }, kOld},
    {"Sign", [](Call& c) -> Results { return sign_of(c[0]); }},
    {"Sin", [](Call& c) -> Results { return sin(c[0]); }},
    {"Sinh", [](Call& c) -> Results { return sinh(c[0]); }},
    {"Softmax", [](Call& c) -> Results { return over_axis(c, [](const Tensor& x, int axis) { return softmax(x, axis); }); }, "axis"},
    {"Softplus", [](Call& c) -> Results { return softplus(c[0], 1, 40); }},  // beyond 40 it is x, in f64 too
    {"Softsign", [](Call& c) -> Results { return softsign(c[0]); }},
    {"Sqrt", [](Call& c) -> Results { return sqrt(c[0]); }, kOld},
    {"Swish", [](Call& c) -> Results { return c[0] * sigmoid(c[0] * c.number("alpha", 1)); }, "alpha"},
    {"Tan", [](Call& c) -> Results { return tan(c[0]); }},
    {"Tanh", [](Call& c) -> Results { return tanh(c[0]); }, kOld},
    {"ThresholdedRelu", [](Call& c) -> Results { return where(c[0] > c.number("alpha", 1), c[0], 0.0); }, "alpha"},
};
// clang-format on

}  // namespace

Operators function_operators() { return kOperators; }

}  // namespace tegula::onnx
