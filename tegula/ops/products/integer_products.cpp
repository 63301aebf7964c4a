#include "tegula/ops/products/integer_products.h"

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/axes.h"

namespace tegula {
namespace {

Tensor small_integers(std::string_view op, const Arg& arg) {
  const Tensor x = arg.tensor(op);
  if (!is_integer(x.dtype()) || size_of(x.dtype()) > 2)
    ops::refuse(op, std::string(name(x.dtype())) + " of shape " + to_string(x.shape()), "integers of 8 or 16 bits", arg.loc,
                "quantised numbers and their differences from a zero point fit into i16");
  return x;
}

}  // namespace

Tensor matmul_integer(Arg a, Arg b) {
  const In frame("matmul_integer", a.loc);
  const Tensor left = small_integers("matmul_integer", a), right = small_integers("matmul_integer", b);
  return matmul(graph::cast(left, i32, a.loc), graph::cast(right, i32, b.loc));
}

Tensor conv_integer(Arg x, Arg weight, const ConvolutionOptions& options) {
  const In frame("conv_integer", x.loc);
  // A product is below 2^32, so that f64 adds two million of them exactly.
  const Tensor input = graph::cast(small_integers("conv_integer", x), f64, x.loc),
               filter = graph::cast(small_integers("conv_integer", weight), f64, weight.loc);
  if (filter.rank() < 3 || filter.rank() > 5)
    ops::refuse("conv_integer", "a weight of shape " + to_string(filter.shape()), "(O, I/groups, window…) with one to three spatial axes",
                x.loc);
  constexpr std::int64_t kMostProducts = std::int64_t{1} << 21;
  if (numel(filter.shape(), 1, filter.rank()) > kMostProducts)
    ops::refuse("conv_integer", "a weight of shape " + to_string(filter.shape()), "at most 2^21 products in a sum", x.loc);
  const Tensor sums = filter.rank() == 3   ? conv1d(input, filter, options)
                      : filter.rank() == 4 ? conv2d(input, filter, options)
                                           : conv3d(input, filter, options);
  return graph::cast(graph::cast(sums, i64, x.loc), i32, x.loc);
}

std::vector<OpCase> integer_product_cases() {
  const std::vector<DType> small{i16, i8, u16, u8};
  std::vector<OpCase> cases;
  const auto add = [&](std::string op, std::vector<CaseInput> inputs, std::function<Tensor(const std::vector<Tensor>&)> function,
                       std::vector<std::vector<Shape>> more = {}) {
    cases.push_back({.op = std::move(op),
                     .function = std::move(function),
                     .inputs = std::move(inputs),
                     .dtypes = small,
                     .more_shapes = std::move(more),
                     .gradient = false});
  };
  add("matmul_integer", {{{5, 7}, -100, 100}, {.shape = {7, 3}, .low = -128, .high = 127, .dtype = i8}},
      [](const auto& x) { return matmul_integer(x[0], x[1]); }, {{{2, 4, 9}, {9, 1}}, {{0, 3}, {3, 2}}, {{4}, {4}}});
  add("conv_integer", {{{2, 4, 6, 5}, -100, 100}, {.shape = {6, 2, 3, 2}, .low = 0, .high = 255, .dtype = u8}},
      [](const auto& x) { return conv_integer(x[0], x[1], {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2}); });
  add("conv_integer", {{{2, 3, 9}, -100, 100}, {{4, 3, 3}, -100, 100}}, [](const auto& x) { return conv_integer(x[0], x[1]); });
  add("conv_integer", {{{2, 3, 4, 5}, -100, 100}, {.shape = {2, 2, 2, 1, 2}, .low = -128, .high = 127, .dtype = i8}},
      [](const auto& x) { return conv_integer(x[0], x[1], {.padding = 1}); });
  return cases;
}

}  // namespace tegula
