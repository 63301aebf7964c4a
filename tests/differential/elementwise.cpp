#include "tests/differential/registry.h"

namespace differential {
namespace {

void unary(Registry& r, const char* name, Tensor (*f)(Arg)) {
  r[name] = [f](const Tensors& x, const Attributes& a) { return Tensors{f(operand(x, a, 0))}; };
}
void binary(Registry& r, const char* name, Tensor (*f)(Arg, Arg)) {
  r[name] = [f](const Tensors& x, const Attributes& a) { return Tensors{f(operand(x, a, 0), operand(x, a, 1))}; };
}

}  // namespace

void add_elementwise(Registry& r) {
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, Tensor (*)(Arg)>>{
           {"exp", exp}, {"exp2", exp2}, {"expm1", expm1}, {"log", log}, {"log2", log2}, {"log10", log10}, {"log1p", log1p},
           {"sqrt", sqrt}, {"rsqrt", rsqrt}, {"sin", sin}, {"cos", cos}, {"tan", tan}, {"asin", asin}, {"acos", acos}, {"atan", atan},
           {"sinh", sinh}, {"cosh", cosh}, {"tanh", tanh}, {"asinh", asinh}, {"acosh", acosh}, {"atanh", atanh}, {"deg2rad", deg2rad},
           {"rad2deg", rad2deg}, {"erf", erf}, {"erfc", erfc}, {"erfinv", erfinv}, {"lgamma", lgamma}, {"digamma", digamma},
           {"sigmoid", sigmoid}, {"logit", logit}, {"floor", floor}, {"ceil", ceil}, {"round", round}, {"trunc", trunc}, {"frac", frac},
           {"isnan", isnan}, {"isinf", isinf}, {"isfinite", isfinite}, {"negate", operator-}, {"square", square},
           {"reciprocal", reciprocal}, {"abs", abs}, {"sign", sign}, {"logical_not", logical_not}, {"bitwise_not", bitwise_not},
           {"relu", relu}, {"relu6", relu6}, {"selu", selu}, {"softsign", softsign}, {"swish", swish}, {"silu", silu}, {"mish", mish},
           {"log_sigmoid", log_sigmoid}, {"tanhshrink", tanhshrink}, {"hardsigmoid", hardsigmoid}, {"hardswish", hardswish},
           {"global_avg_pool", global_avg_pool}, {"global_max_pool", global_max_pool}})
    unary(r, name, f);
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, Tensor (*)(Arg, Arg)>>{
           {"add", operator+}, {"subtract", operator-}, {"multiply", operator*}, {"divide", operator/},
           {"floor_divide", floor_divide}, {"remainder", remainder}, {"fmod", fmod}, {"pow", pow}, {"minimum", minimum},
           {"maximum", maximum}, {"clamp_min", clamp_min}, {"clamp_max", clamp_max}, {"equal", operator==}, {"not_equal", operator!=},
           {"less", operator<}, {"less_equal", operator<=}, {"greater", operator>}, {"greater_equal", operator>=}, {"hypot", hypot},
           {"atan2", atan2}, {"xlogy", xlogy}, {"logical_and", logical_and}, {"logical_or", logical_or}, {"logical_xor", logical_xor},
           {"bitwise_and", bitwise_and}, {"bitwise_or", bitwise_or}, {"bitwise_xor", bitwise_xor}, {"left_shift", left_shift},
           {"right_shift", right_shift}, {"prelu", prelu}, {"matmul", matmul}, {"dot", dot}, {"outer", outer}, {"mv", mv}, {"mm", mm},
           {"bmm", bmm}})
    binary(r, name, f);
  r["clamp"] = [](const Tensors& x, const Attributes& a) { return Tensors{clamp(operand(x, a, 0), operand(x, a, 1), operand(x, a, 2))}; };
  r["multiply_add"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{multiply_add(operand(x, a, 0), operand(x, a, 1), operand(x, a, 2))};
  };
  r["lerp"] = [](const Tensors& x, const Attributes& a) { return Tensors{lerp(operand(x, a, 0), operand(x, a, 1), operand(x, a, 2))}; };
  r["where"] = [](const Tensors& x, const Attributes& a) { return Tensors{where(x[0], operand(x, a, 1), operand(x, a, 2))}; };
  r["isclose"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{isclose(x[0], x[1], {.relative = real(a, "relative", 1e-5), .absolute = real(a, "absolute", 1e-8)})};
  };
  r["nan_to_num"] = [](const Tensors& x, const Attributes&) { return Tensors{nan_to_num(x[0])}; };
  r["cast"] = [](const Tensors& x, const Attributes& a) { return Tensors{cast(x[0], dtype_named(a.at("dtype")))}; };
  r["leaky_relu"] = [](const Tensors& x, const Attributes& a) { return Tensors{leaky_relu(x[0], real(a, "slope", 0.01))}; };
  r["elu"] = [](const Tensors& x, const Attributes& a) { return Tensors{elu(x[0], real(a, "alpha", 1))}; };
  r["celu"] = [](const Tensors& x, const Attributes& a) { return Tensors{celu(x[0], real(a, "alpha", 1))}; };
  r["gelu"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{gelu(x[0], flag(a, "tanh") ? Approximate::Tanh : Approximate::None)};
  };
  r["softplus"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{softplus(x[0], real(a, "beta", 1), real(a, "threshold", 20))};
  };
  r["hardtanh"] = [](const Tensors& x, const Attributes& a) { return Tensors{hardtanh(x[0], real(a, "low", -1), real(a, "high", 1))}; };
  r["hardshrink"] = [](const Tensors& x, const Attributes& a) { return Tensors{hardshrink(x[0], real(a, "lambda", 0.5))}; };
  r["softshrink"] = [](const Tensors& x, const Attributes& a) { return Tensors{softshrink(x[0], real(a, "lambda", 0.5))}; };
  r["threshold"] = [](const Tensors& x, const Attributes& a) { return Tensors{threshold(x[0], real(a, "bound", 0), real(a, "value", 0))}; };
  r["maxout"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{maxout(x[0], static_cast<int>(whole(a, "groups", 2)), static_cast<int>(whole(a, "axis", 1)))};
  };
}

}  // namespace differential
