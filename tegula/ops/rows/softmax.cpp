#include "tegula/ops/rows/softmax.h"

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula {
namespace {

Tensor shifted(const Tensor& x, int axis) { return x - graph::stop_gradient(max(x, axis, Keep::Yes)); }

Tensor softmax_of(std::string_view op, const Tensor& given, int axis, const Line& where) {
  axis = ops::axis_of(op, axis, given.shape(), where);
  if (given.numel() == 0) return graph::identity(given, where);
  const Tensor x = ops::widen(given);
  const auto forward = [axis](const std::vector<Tensor>& in) {
    const Tensor e = exp(shifted(in[0], axis));
    return e / sum(e, axis, Keep::Yes);
  };
  // Written with y, so that nothing else of the forward pass is kept: dx = y * (dy - Σ dy*y).
  const auto backward = [axis](const std::vector<Tensor>&, const Tensor& y, const Tensor& dy) {
    return std::vector<Tensor>{y * (dy - sum(dy * y, axis, Keep::Yes))};
  };
  return ops::narrow(custom_function(std::string(op), {{"axis", std::int64_t{axis}}}, forward, backward, {x}, where), given.dtype());
}

}  // namespace

Tensor softmax(Arg x, int axis) {
  const In frame("softmax", x.loc);
  return softmax_of("softmax", ops::float_tensor("softmax", x), axis, x.loc);
}

Tensor softmin(Arg x, int axis) {
  const In frame("softmin", x.loc);
  return softmax_of("softmin", -ops::float_tensor("softmin", x), axis, x.loc);
}

Tensor log_softmax(Arg arg, int axis) {
  const In frame("log_softmax", arg.loc);
  Tensor given = ops::float_tensor("log_softmax", arg);
  axis = ops::axis_of("log_softmax", axis, given.shape(), arg.loc);
  if (given.numel() == 0) return graph::identity(given, arg.loc);
  const auto forward = [axis](const std::vector<Tensor>& in) {
    const Tensor s = shifted(in[0], axis);
    return s - log(sum(exp(s), axis, Keep::Yes));
  };
  const auto backward = [axis](const std::vector<Tensor>&, const Tensor& y, const Tensor& dy) {
    return std::vector<Tensor>{dy - exp(y) * sum(dy, axis, Keep::Yes)};
  };
  return ops::narrow(custom_function("log_softmax", {{"axis", std::int64_t{axis}}}, forward, backward, {ops::widen(given)}, arg.loc),
                     given.dtype());
}

std::vector<OpCase> softmax_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](const std::string& op, Tensor (*function)(Arg, int)) {
    cases.push_back({.op = op,
                     .function = [=](const auto& x) { return function(x[0], -1); },
                     .inputs = {{{7, 33}, -4, 4}},
                     .more_shapes = {{{1023}}, {{0, 3}}, {{3, 1}}}});
    cases.push_back({.op = op, .function = [=](const auto& x) { return function(x[0], 1); }, .inputs = {{{2, 5, 3}, -4, 4}}});
  };
  add("softmax", softmax);
  add("log_softmax", log_softmax);
  add("softmin", softmin);
  return cases;
}

}  // namespace tegula
