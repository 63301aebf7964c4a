#include "tegula/ops/elementwise/int4.h"

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {

Tensor pack_int4(Arg x) {
  const In frame("pack_int4", x.loc);
  const Tensor given = x.tensor("pack_int4");
  if (is_float(given.dtype()) || given.dtype() == boolean || given.rank() == 0 || given.shape().back() % 2 != 0) {
    ops::refuse("pack_int4", std::string(name(given.dtype())) + " " + to_string(given.shape()),
                "integers, an even number of them in each row", x.loc, "round(x) cast to i8; pad(x, …) the last axis");
  }
  Shape pairs = given.shape();
  pairs[pairs.rank() - 1] /= 2;
  pairs.push_back(2);
  const Tensor halves = reshape(bitwise_and(graph::cast(given, u8, x.loc), 15), pairs);
  return bitwise_or(select(halves, -1, 0), left_shift(select(halves, -1, 1), 4));
}

Tensor unpack_int4(Arg bytes, Int4 kind, DType dtype) {
  const In frame("unpack_int4", bytes.loc);
  const Tensor given = bytes.tensor("unpack_int4");
  if (given.dtype() != u8 || given.rank() == 0)
    ops::refuse("unpack_int4", std::string(name(given.dtype())) + " " + to_string(given.shape()), "bytes (u8) along a last axis",
                bytes.loc);
  Shape shape = given.shape();
  shape[shape.rank() - 1] *= 2;
  const auto halves = [=, where = bytes.loc](const std::vector<Tensor>& in) {
    const Tensor numbers = reshape(stack({bitwise_and(in[0], 15), right_shift(in[0], 4)}, in[0].rank()), shape);
    // The upper half of the 16 numbers is negative: 8 to 15 are -8 to -1.
    return kind == Int4::Signed ? graph::cast(bitwise_xor(numbers, 8), i8, where) - 8 : numbers;
  };
  const Vjp no_gradient = [](const std::vector<Tensor>&, const Tensor&, const Tensor&) { return std::vector<Tensor>(1); };
  // One node for those who write it elsewhere: ONNX has a type for these numbers.
  const Tensor numbers = custom_function("unpack_int4", {{"signed", kind == Int4::Signed}}, halves, no_gradient, {given}, bytes.loc);
  return graph::cast(numbers, dtype, bytes.loc);
}

std::vector<OpCase> int4_cases() {
  return {
      {.op = "pack_int4",
       .function = [](const auto& x) { return pack_int4(x[0]); },
       .inputs = {{.shape = {3, 8}, .low = 0, .high = 15}},
       .dtypes = kIntegers,
       .more_shapes = {{{0, 4}}, {{3, 0}}, {{34}}},
       .gradient = false},
      {.op = "unpack_int4",
       .function = [](const auto& x) { return unpack_int4(x[0], Int4::Signed); },
       .inputs = {{.shape = {3, 5}, .low = 0, .high = 255, .dtype = u8}},
       .dtypes = {f32},
       .more_shapes = {{{0, 4}}, {{3, 0}}, {{17}}},
       .gradient = false},
      {.op = "unpack_int4",
       .function = [](const auto& x) { return unpack_int4(x[0], Int4::Unsigned, f16); },
       .inputs = {{.shape = {3, 5}, .low = 0, .high = 255, .dtype = u8}},
       .dtypes = {f32},
       .gradient = false},
  };
}

}  // namespace tegula
