#include "tegula/ops/rows/distance.h"

#include <cmath>

#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/promote.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

struct Pair {
  Tensor a, b;
  DType dtype;
};
/// Both operands in one float dtype, at least f32.
Pair wide_pair(std::string_view op, const Arg& a, const Arg& b) {
  const DType dtype = result_type(op, {a, b});
  ops::float_tensor(op, a), ops::float_tensor(op, b);
  return {ops::widen(graph::cast(a.tensor(op), dtype, a.loc)), ops::widen(graph::cast(b.tensor(op), dtype, a.loc)), dtype};
}

}  // namespace

Tensor cosine_similarity(Arg a, Arg b, int axis, double eps) {
  const In frame("cosine_similarity", a.loc);
  const auto [x, y, dtype] = wide_pair("cosine_similarity", a, b);
  const Tensor operands[] = {x, y};
  const Shape shape = common_shape("cosine_similarity", operands, a.loc);
  const int along = ops::axis_of("cosine_similarity", axis, shape, a.loc);
  const auto unit = [&](const Tensor& t) {
    const Tensor whole = graph::expand(t, shape, a.loc);
    return whole / clamp_min(norm(whole, 2, along, Keep::Yes), eps);
  };
  return ops::narrow(sum(unit(x) * unit(y), along), dtype);
}

Tensor cdist(Arg a, Arg b, double p) {
  const In frame("cdist", a.loc);
  const auto [x, y, dtype] = wide_pair("cdist", a, b);
  if (x.rank() < 2 || y.rank() < 2 || x.shape().back() != y.shape().back()) {
    ops::refuse("cdist", "shapes " + to_string(x.shape()) + " and " + to_string(y.shape()), "(…, P, D) and (…, R, D)", a.loc);
  }
  if (std::isnan(p) || p < 0) ops::refuse("cdist", "p = " + number_text(p), "at least 0", a.loc);
  return ops::narrow(norm(expand_dims(x, -2) - expand_dims(y, -3), p, -1), dtype);
}

std::vector<OpCase> distance_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string op, std::vector<Shape> shapes, std::vector<std::vector<Shape>> more,
                       std::function<Tensor(const std::vector<Tensor>&)> function) {
    cases.push_back({.op = std::move(op),
                     .function = std::move(function),
                     .inputs = {{.shape = shapes[0], .low = 0.5, .high = 2}, {.shape = shapes[1], .low = -2, .high = -0.5}},
                     .more_shapes = std::move(more),
                     .tolerance = 64});
  };
  add("cosine_similarity", {{5, 7}, {5, 7}}, {{{0, 7}, {0, 7}}, {{5, 7}, {1, 7}}, {{2, 33, 3}, {33, 1}}},
      [](const auto& x) { return cosine_similarity(x[0], x[1]); });
  add("cosine_similarity", {{33}, {33}}, {}, [](const auto& x) { return cosine_similarity(x[0], x[1], -1); });
  for (const double p : {2.0, 1.0, 3.0}) {
    add("cdist", {{5, 7}, {3, 7}}, {{{2, 5, 3}, {4, 3}}, {{2, 1, 5, 3}, {3, 4, 3}}, {{0, 3}, {4, 3}}, {{4, 0}, {2, 0}}},
        [=](const auto& x) { return cdist(x[0], x[1], p); });
  }
  add("cdist", {{5, 7}, {3, 7}}, {}, [](const auto& x) { return cdist(x[0], x[1], HUGE_VAL); });
  return cases;
}

}  // namespace tegula
