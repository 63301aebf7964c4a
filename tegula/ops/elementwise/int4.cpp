#include "tegula/ops/elementwise/int4.h"

#include <algorithm>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {

namespace {

void refuse_odd(std::string_view op, const Tensor& x, const Line& where) {
  if (x.rank() == 0 || x.shape().back() % 2 != 0)
    ops::refuse(op, std::string(name(x.dtype())) + " " + to_string(x.shape()), "an even number of them in each row", where,
                "pad(x, …) the last axis");
}

/// The lower halves of integers, two in a byte.
Tensor packed(const Tensor& x, const Line& where) {
  Shape pairs = x.shape();
  pairs[pairs.rank() - 1] /= 2;
  pairs.push_back(2);
  const Tensor halves = reshape(bitwise_and(graph::cast(x, u8, where), 15), pairs);
  return bitwise_or(select(halves, -1, 0), left_shift(select(halves, -1, 1), 4));
}

/// x (…, n) as (…, n / block, block).
Tensor in_blocks(const Tensor& x, std::int64_t block) {
  Shape shape = x.shape();
  shape[shape.rank() - 1] /= block;
  shape.push_back(block);
  return reshape(x, shape);
}

}  // namespace

Tensor pack_int4(Arg x) {
  const In frame("pack_int4", x.loc);
  const Tensor given = x.tensor("pack_int4");
  if (!is_integer(given.dtype()))
    ops::refuse("pack_int4", std::string(name(given.dtype())) + " " + to_string(given.shape()), "integers", x.loc,
                "pack_int4(x, Int4::Signed) rounds");
  refuse_odd("pack_int4", given, x.loc);
  return packed(given, x.loc);
}

Tensor pack_int4(Arg x, Int4 kind) {
  const In frame("pack_int4", x.loc);
  const Tensor given = x.tensor("pack_int4");
  if (given.dtype() == boolean)
    ops::refuse("pack_int4", "bool " + to_string(given.shape()), "floats or integers", x.loc, "pack_int4(cast(x, u8))");
  refuse_odd("pack_int4", given, x.loc);
  const std::int64_t low = kind == Int4::Signed ? -8 : 0, high = kind == Int4::Signed ? 7 : 15;
  if (is_integer(given.dtype())) return packed(clamp(given, is_unsigned(given.dtype()) ? 0 : low, high), x.loc);
  const Tensor wide = is_float8(given.dtype()) ? graph::cast(given, f32, x.loc) : given;
  const Tensor near = clamp(round(where(isnan(wide), 0, wide)), low, high);
  return packed(graph::cast(near, i32, x.loc), x.loc);
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

QuantizedInt4 quantize_int4(Arg x, const Int4Options& options) {
  const In frame("quantize_int4", x.loc);
  const Tensor given = ops::float_tensor("quantize_int4", x);
  refuse_odd("quantize_int4", given, x.loc);
  const std::int64_t row = given.shape().back(), block = options.block == 0 ? std::max<std::int64_t>(row, 1) : options.block;
  if (block < 1 || row % block != 0)
    ops::refuse("quantize_int4", "blocks of " + std::to_string(options.block) + " in rows of " + std::to_string(row),
                "a block that divides the row", x.loc);
  const Tensor blocks = in_blocks(stop_gradient(ops::widen(given)), block);
  const auto codes = [&](const Tensor& numbers) { return pack_int4(reshape(numbers, given.shape()), options.kind); };
  const auto scale_of = [&](const Tensor& most) { return ops::narrow(where(most > 0, most, 1), given.dtype()); };  // as it is stored
  const auto beside = [&](const Tensor& one) { return unsqueeze(ops::widen(one), -1); };
  if (options.kind == Int4::Signed) {
    const Tensor scale = scale_of(max(abs(blocks), -1) / 7);
    return {codes(blocks / beside(scale)), scale, {}};
  }
  const Tensor low = minimum(min(blocks, -1), 0), scale = scale_of((maximum(max(blocks, -1), 0) - low) / 15);
  const Tensor zero = clamp(round(-low / ops::widen(scale)), 0, 15);
  return {codes(round(blocks / beside(scale)) + unsqueeze(zero, -1)), scale, graph::cast(zero, u8, x.loc)};
}

Tensor dequantize_int4(const QuantizedInt4& x, Line where) {
  const In frame("dequantize_int4", where);
  const Tensor bytes = Arg(x.bytes, where).tensor("dequantize_int4"), scale = ops::float_tensor("dequantize_int4", Arg(x.scale, where));
  Shape shape = bytes.shape(), rows = scale.shape();
  const std::int64_t blocks = rows.rank() > 0 ? rows.back() : 0;
  if (bytes.dtype() == u8 && shape.rank() > 0) shape[shape.rank() - 1] *= 2;
  if (shape.rank() == rows.rank() && shape.rank() > 0) rows[rows.rank() - 1] = shape.back();
  const bool fits = bytes.dtype() == u8 && rows == shape && (blocks > 0 ? shape.back() % blocks == 0 : shape.back() == 0);
  if (!fits || (x.zero_point.defined() && (x.zero_point.shape() != scale.shape() || x.zero_point.dtype() != u8)))
    ops::refuse("dequantize_int4", "bytes " + to_string(bytes.shape()) + " and scales " + to_string(scale.shape()),
                "bytes (…, n / 2), scales (…, n / block), and zero points (u8) as these", where);
  const Int4 kind = x.zero_point.defined() ? Int4::Unsigned : Int4::Signed;
  Tensor codes = in_blocks(unpack_int4(Arg(bytes, where), kind, scale.dtype()), blocks > 0 ? shape.back() / blocks : 1);
  if (x.zero_point.defined()) codes = codes - unsqueeze(graph::cast(x.zero_point, scale.dtype(), where), -1);
  return reshape(codes * unsqueeze(scale, -1), shape);
}

std::vector<OpCase> int4_cases() {
  return {
      {.op = "pack_int4",
       .function = [](const auto& x) { return pack_int4(x[0]); },
       .inputs = {{.shape = {3, 8}, .low = 0, .high = 15}},
       .dtypes = kIntegers,
       .more_shapes = {{{0, 4}}, {{3, 0}}, {{34}}},
       .gradient = false},
      {.op = "pack_int4",
       .function = [](const auto& x) { return pack_int4(x[0], Int4::Signed); },
       .inputs = {{.shape = {3, 8}, .low = -10, .high = 10}},
       .dtypes = kNumbers,
       .more_shapes = {{{0, 4}}, {{34}}},
       .gradient = false},
      {.op = "pack_int4",
       .function = [](const auto& x) { return pack_int4(x[0], Int4::Unsigned); },
       .inputs = {{.shape = {3, 8}, .low = -4, .high = 20}},
       .dtypes = kNumbers,
       .gradient = false},
      {.op = "quantize_int4",
       .function = [](const auto& x) { return quantize_int4(x[0], {.block = 4}).scale; },
       .inputs = {{.shape = {3, 8}}},
       .more_shapes = {{{0, 4}}, {{3, 0}}, {{36}}},
       .gradient = false},
      {.op = "quantize_int4",
       .function = [](const auto& x) { return cast(quantize_int4(x[0], {.kind = Int4::Unsigned}).zero_point, i32); },
       .inputs = {{.shape = {5, 6}}},
       .gradient = false,
       .jumps = true},
      {.op = "dequantize_int4",
       .function = [](const auto& x) { return dequantize_int4({x[0], x[1], {}}); },
       .inputs = {{.shape = {3, 5}, .low = 0, .high = 255, .dtype = u8}, {.shape = {3, 2}}},
       .more_shapes = {{{0, 4}, {0, 2}}, {{6}, {3}}}},
      {.op = "dequantize_int4",
       .function = [](const auto& x) { return dequantize_int4({x[0], x[1], x[2]}); },
       .inputs = {{.shape = {3, 5}, .low = 0, .high = 255, .dtype = u8},
                  {.shape = {3, 1}},
                  {.shape = {3, 1}, .low = 0, .high = 15, .dtype = u8}}},
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
