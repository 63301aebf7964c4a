#include "tegula/ops/e4m3.h"

#include <cmath>
#include <string>

#include "tegula/graph/e4m3.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {

Tensor round_e4m3(Arg arg) {
  const In frame("round_e4m3", arg.loc);
  const Tensor x = arg.tensor("round_e4m3");
  const auto& where = arg.loc;
  if (!is_float(x.dtype()) || x.dtype() == f64)
    ops::refuse("round_e4m3", "dtype " + std::string(name(x.dtype())), "f32, f16 or bf16", where);
  if (x.numel() == 0) return graph::identity(x, where);
  const Tensor plain = graph::stop_gradient(x, where);
  const Tensor largest = graph::cast(max(abs(Arg(plain, where))), f32, where);
  const Tensor factor = make_node(e4m3_factor_op(), {largest}, Shape{}, f32, where);
  return make_node(e4m3_round_op(), {x, factor}, x.shape(), x.dtype(), where);
}

Tensor pack_e4m3(Arg arg, std::int64_t block) {
  const In frame("pack_e4m3", arg.loc);
  const Tensor x = arg.tensor("pack_e4m3");
  const auto& where = arg.loc;
  if (x.dtype() != f32 || x.rank() != 2 || block < 1 || x.shape()[1] % block != 0) {
    ops::refuse("pack_e4m3", std::string(name(x.dtype())) + " " + to_string(x.shape()),
                "f32 (n, k), k a multiple of " + std::to_string(block), where);
  }
  const std::int64_t rows = x.shape()[0], columns = x.shape()[1], blocks = columns / block;
  const Tensor plain = graph::stop_gradient(x, where);
  const Tensor seen = tegula::where(isfinite(Arg(plain, where)), plain, graph::scalar(std::nan(""), f32, where));
  const Tensor parts = graph::reshape(seen, {rows, blocks, block}, where);
  const Tensor largest = max(Arg(abs(Arg(parts, where)), where), {2});
  const Tensor factor = make_node(e4m3_factor_op(), {largest}, {rows, blocks}, f32, where);
  const Tensor spread = graph::expand(graph::reshape(factor, {rows, blocks, 1}, where), parts.shape(), where);
  const Tensor codes = make_node(e4m3_encode_op(), {parts, spread}, parts.shape(), u8, where);
  const Tensor exponents = make_node(e8m0_encode_op(), {factor}, factor.shape(), u8, where);
  return concat({graph::reshape(codes, {rows, columns}, where), exponents}, 1, where);
}

Tensor unpack_e4m3(Arg arg, std::int64_t block) {
  const In frame("unpack_e4m3", arg.loc);
  const Tensor packed = arg.tensor("unpack_e4m3");
  const auto& where = arg.loc;
  if (packed.dtype() != u8 || packed.rank() != 2 || block < 1 || packed.shape()[1] % (block + 1) != 0) {
    ops::refuse("unpack_e4m3", std::string(name(packed.dtype())) + " " + to_string(packed.shape()),
                "u8 (n, k + k / " + std::to_string(block) + ")", where);
  }
  const std::int64_t rows = packed.shape()[0], blocks = packed.shape()[1] / (block + 1), columns = blocks * block;
  const Shape parts{rows, blocks, block};
  const Tensor codes = graph::reshape(slice(Arg(packed, where), 1, {0, columns}), parts, where);
  const Tensor exponents = slice(Arg(packed, where), 1, {columns, columns + blocks});
  const Tensor factor = make_node(e8m0_decode_op(), {exponents}, {rows, blocks}, f32, where);
  const Tensor spread = graph::expand(graph::reshape(factor, {rows, blocks, 1}, where), parts, where);
  return graph::reshape(make_node(e4m3_decode_op(), {codes, spread}, parts, f32, where), {rows, columns}, where);
}

std::vector<OpCase> e4m3_cases() {
  return {{.op = "round_e4m3",
           .function = [](const auto& x) { return round_e4m3(x[0]); },
           .inputs = {{{7, 33}, -3, 3}},
           .dtypes = {f32, f16, bf16},
           .more_shapes = {{{1023}}, {{0, 3}}, {{}}, {{3, 5, 7}}},
           .gradient = false,  // of round_e4m3, not of its steps
           .jumps = true}};
}

}  // namespace tegula
