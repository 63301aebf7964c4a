#include "tegula/ops/e4m3.h"

#include "tegula/graph/e4m3.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula {

Tensor round_e4m3(Arg arg) {
  const In frame("round_e4m3", arg.loc);
  const Tensor x = arg.tensor("round_e4m3");
  const auto& where = arg.loc;
  if (!is_float(x.dtype()) || x.dtype() == f64)
    ops::refuse("round_e4m3", "dtype " + std::string(name(x.dtype())), "f32, f16 or bf16", where);
  if (x.numel() == 0) return x;
  const Tensor plain = graph::stop_gradient(x, where);
  const Tensor largest = graph::cast(max(abs(Arg(plain, where))), f32, where);
  const Tensor factor = make_node(e4m3_factor_op(), {largest}, Shape{}, f32, where);
  return make_node(e4m3_round_op(), {x, factor}, x.shape(), x.dtype(), where);
}

std::vector<OpCase> e4m3_cases() {
  return {{.op = "round_e4m3",
           .function = [](const auto& x) { return round_e4m3(x[0]); },
           .inputs = {{{7, 33}, -3, 3}},
           .dtypes = {f32, f16, bf16},
           .more_shapes = {{{1023}}, {{0, 3}}, {{}}, {{3, 5, 7}}},
           .gradient = false,  // that of x, not of the steps
           .jumps = true}};
}

}  // namespace tegula
