#include "tegula/tegula.h"
#include "tests/property/ops.h"

namespace tegula::property {
namespace {

using One = Tensor (*)(const Tensor&);
using Two = Tensor (*)(const Tensor&, const Tensor&);

// Results stay within a few times their operands, so that long graphs neither overflow nor die out.
constexpr std::pair<const char*, One> kUnary[] = {
    {"neg", [](const Tensor& x) { return -x; }},
    {"sin", [](const Tensor& x) { return sin(x); }},
    {"cos", [](const Tensor& x) { return cos(x); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    {"relu", [](const Tensor& x) { return relu(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }},
    {"abs", [](const Tensor& x) { return abs(x); }},
    {"exp", [](const Tensor& x) { return exp(-abs(x)); }},
    {"log", [](const Tensor& x) { return log(abs(x) + 0.5); }},
    {"sqrt", [](const Tensor& x) { return sqrt(abs(x) + 0.25); }},
    {"rsqrt", [](const Tensor& x) { return rsqrt(square(x) + 0.5); }},
    {"scale", [](const Tensor& x) { return x * 1.1; }},
    {"shift", [](const Tensor& x) { return x - 0.3; }},
    {"affine", [](const Tensor& x) { return 1.0 - x * 0.7; }},
    {"square", [](const Tensor& x) { return square(x) * 0.5; }},
    {"clamp", [](const Tensor& x) { return clamp(x, -1.5, 1.25); }},
    {"floor", [](const Tensor& x) { return floor(x * 2); }},
    {"sign", [](const Tensor& x) { return sign(x); }},
    {"identity", [](const Tensor& x) { return x * 1.0; }},
    {"stop_gradient", [](const Tensor& x) { return stop_gradient(x); }},
};

constexpr std::pair<const char*, Two> kBinary[] = {
    {"add", [](const Tensor& x, const Tensor& y) { return x + y; }},
    {"sub", [](const Tensor& x, const Tensor& y) { return x - y; }},
    {"mul", [](const Tensor& x, const Tensor& y) { return x * y; }},
    {"fma", [](const Tensor& x, const Tensor& y) { return 1.0 - x * y; }},
    {"div", [](const Tensor& x, const Tensor& y) { return x / (square(y) + 0.75); }},
    {"maximum", [](const Tensor& x, const Tensor& y) { return maximum(x, y); }},
    {"minimum", [](const Tensor& x, const Tensor& y) { return minimum(x, y); }},
    {"atan2", [](const Tensor& x, const Tensor& y) { return atan2(x, y + 3.0); }},
    {"where", [](const Tensor& x, const Tensor& y) { return where(x > y, x, y * 0.5); }},
    {"relu_gradient", [](const Tensor& x, const Tensor& y) { return where(x > 0.0, y, 0.0); }},
    {"hypot", [](const Tensor& x, const Tensor& y) { return hypot(x, abs(y) + 0.25); }},
};

constexpr std::pair<const char*, Two> kCompare[] = {
    {"less", [](const Tensor& x, const Tensor& y) { return x < y; }},
    {"equal", [](const Tensor& x, const Tensor& y) { return x == y; }},
    {"at_least", [](const Tensor& x, const Tensor& y) { return x >= y; }},
};

// Ops on integers within a hundred or so.
constexpr std::pair<const char*, Two> kInteger[] = {
    {"integer_add", [](const Tensor& x, const Tensor& y) { return clamp(x + y, -100, 100); }},
    {"integer_mul", [](const Tensor& x, const Tensor& y) { return remainder(x * y, 11); }},
    {"integer_divide", [](const Tensor& x, const Tensor& y) { return floor_divide(x, abs(y) + 1); }},
    {"bit_and", [](const Tensor& x, const Tensor& y) { return x & y; }},
    {"bit_xor", [](const Tensor& x, const Tensor& y) { return x ^ y; }},
};

}  // namespace

std::vector<GraphOp> elementwise_ops() {
  std::vector<GraphOp> ops;
  for (const auto& [name, build] : kUnary) ops.push_back({name, 1, 2, [build](const Use& use) { return build(use.real(0)); }});
  for (const auto& [name, build] : kBinary) {
    ops.push_back({name, 2, 6, [build](const Use& use) { return build(use.real(0), use.real(1)); }});
  }
  for (const auto& [name, build] : kCompare) ops.push_back({name, 2, 1, [build](const Use& use) { return build(use.x[0], use.x[1]); }});
  for (const auto& [name, build] : kInteger) {
    ops.push_back({name, 2, 0.7, [build](const Use& use) { return build(use.whole(0), use.whole(1)); }});
  }
  ops.push_back({"choose", 3, 3,
                 [](const Use& use) { return where(use.x[0].dtype() == boolean ? use.x[0] : use.x[0] > 0, use.real(1), use.real(2)); }});
  ops.push_back({"not", 1, 0.5, [](const Use& use) { return use.x[0].dtype() == boolean ? !use.x[0] : ~use.whole(0); }});
  ops.push_back({"cast_float", 1, 3, [](const Use& use) {
                   constexpr DType to[] = {f64, f32, f64, f32, f16, bf16};
                   return cast(use.x[0], to[use.pick(0, 6)]);
                 }});
  ops.push_back({"cast_integer", 1, 1, [](const Use& use) {
                   constexpr DType to[] = {i64, i32, i16, i8, u8};
                   return cast(abs(use.whole(0)), to[use.pick(0, 5)]);
                 }});
  ops.push_back({"cast_unsigned", 1, 0.5, [](const Use& use) {
                   constexpr DType to[] = {u16, u32, u64};
                   return cast(abs(use.whole(0)), to[use.pick(0, 3)]);
                 }});
  ops.push_back({"cast_float8", 1, 0.5, [](const Use& use) { return cast(use.real(0), use.pick(0, 2) == 0 ? e4m3 : e5m2); }});
  ops.push_back({"masked_fill", 2, 2, [](const Use& use) { return masked_fill(use.real(0), use.x[1] > 0, 0.5); }});
  return ops;
}

}  // namespace tegula::property
