#include "tegula/ops/case.h"

namespace tegula {

OpCase unary_case(std::string op, Tensor (*function)(Arg), double low, double high, std::vector<double> kinks) {
  OpCase one;
  one.op = std::move(op);
  one.function = [function](const std::vector<Tensor>& x) { return function(x[0]); };
  one.inputs = {{.shape = {1023}, .low = low, .high = high, .kinks = std::move(kinks)}};
  one.more_shapes = {{{7, 33}}, {{0, 3}}, {{}}};
  return one;
}

OpCase binary_case(std::string op, Tensor (*function)(Arg, Arg), CaseInput a, CaseInput b) {
  OpCase one;
  one.op = std::move(op);
  one.function = [function](const std::vector<Tensor>& x) { return function(x[0], x[1]); };
  a.shape = b.shape = {33, 7};
  one.inputs = {std::move(a), std::move(b)};
  one.more_shapes = {{{1023}, {1023}}, {{5, 1, 7}, {3, 1}}, {{7}, {33, 7}}, {{}, {3, 5}}, {{0, 3}, {3}}, {{}, {}}};
  return one;
}

OpCase binary_case(std::string op, Tensor (*function)(Arg, Arg), double low, double high) {
  const CaseInput input{.low = low, .high = high};
  return binary_case(std::move(op), function, input, input);
}

}  // namespace tegula
