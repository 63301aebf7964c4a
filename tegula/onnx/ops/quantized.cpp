// Quantised numbers: integers with a scale and a zero point. Sums of products are those of i32, exact.

#include "tegula/onnx/ops/common.h"
#include "tegula/onnx/ops/convolution.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/integer_products.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// A scale or zero point to lie beside x: one number, one for each place of an axis, or one for each block of `block` places.
Tensor beside(const Call& call, const Tensor& scale, const Tensor& x, std::int64_t axis_given, std::int64_t block) {
  if (scale.numel() == 1 && block == 0) return reshape(scale, {});
  const int axis = call.axis(axis_given, x.rank());
  if (block == 0) {
    if (scale.rank() != 1 || scale.numel() != x.size(axis))
      call.refuse("a scale of shape " + to_string(scale.shape()),
                  "one number, or " + std::to_string(x.size(axis)) + " along axis " + std::to_string(axis));
    return along(scale, axis, x.rank());
  }
  if (scale.rank() != x.rank() || block < 1 || (x.size(axis) + block - 1) / block != scale.size(axis))
    call.refuse("a scale of shape " + to_string(scale.shape()) + " for blocks of " + std::to_string(block),
                "one for each block of " + to_string(x.shape()));
  return slice(repeat_interleave(scale, block, axis), axis, {0, x.size(axis)});
}

Tensor wide(const Tensor& x) { return x.dtype() == f64 ? x : cast(x, f32); }

/// round(x / scale) + zero, halves to the even neighbour, limited to the type.
Value quantized(const Call& call, const Tensor& x, const Tensor& scale, const Tensor& zero, Type to, bool saturates) {
  if (is_float(dtype_of(to))) return converted(call, x / scale, to, saturates);
  Tensor y = round(x / scale);
  if (zero.defined()) y = y + cast(zero, y.dtype());
  Value out(cast(saturated(y, to), dtype_of(to)));
  if (to != type_of(dtype_of(to))) out.narrow = to;
  return out;
}

Results quantize(const Call& call) {
  const Tensor x = call[0];
  const std::int64_t axis = call.integer("axis", 1), block = call.integer("block_size", 0);
  Type to = static_cast<Type>(call.integer("output_dtype", 0));
  if (call.has(2)) to = type_of(call.value(2));
  else if (to == Type::Undefined) to = Type::Uint8;
  if (call.integer("precision", 0) != 0 && call.integer("precision", 0) != 1) call.refuse("another precision than f32", "f32");
  const Tensor scale = beside(call, wide(call[1]), x, axis, block);
  const Tensor zero = call.has(2) ? beside(call, wide(call[2]), x, axis, block) : Tensor();
  return quantized(call, wide(x), scale, zero, to, call.flag("saturate", true));
}

Results dequantize(const Call& call) {
  const Tensor x = call[0];
  const std::int64_t axis = call.integer("axis", 1), block = call.integer("block_size", 0);
  const DType dtype = call.integer("output_dtype", 0) ? dtype_of(static_cast<Type>(call.integer("output_dtype", 0))) : call[1].dtype();
  const Tensor scale = beside(call, wide(call[1]), x, axis, block);
  if (is_float(x.dtype())) return cast(wide(x) * scale, dtype);
  Tensor y = cast(x, i32);
  if (call.has(2)) y = y - beside(call, cast(call[2], i32), x, axis, block);
  return cast(cast(y, f32) * scale, dtype);
}

Results quantize_dynamically(const Call& call) {
  const Tensor x = call[0];
  const Tensor low = minimum(min(x), 0.0), high = maximum(max(x), 0.0), scale = (high - low) / 255.0;
  const Tensor zero = saturated(round(-low / scale), Type::Uint8);
  return std::vector<Tensor>{quantized(call, x, scale, zero, Type::Uint8, true).tensor, scale, cast(zero, u8)};
}

/// An operand without its zero point, which may be one for each row (axis -2) or column (axis -1).
Tensor without_zero(const Call& call, std::size_t i, std::size_t zero, int axis) {
  const Tensor x = cast(call[i], i16);
  if (!call.has(zero)) return x;
  const Tensor z = cast(call[zero], i16);
  if (z.numel() == 1) return x - reshape(z, {});
  if (z.rank() > 1) return x - z;
  return x - along(z, call.axis(axis, x.rank()), x.rank());
}

/// A scale that may be one for each row or column of a product of this rank.
Tensor scale_along(const Call& call, std::size_t i, int axis, int rank) {
  const Tensor s = wide(call[i]);
  if (s.numel() == 1) return reshape(s, {});
  return s.rank() > 1 ? s : along(s, call.axis(axis, rank), rank);
}

Results matmul_quantized(const Call& call) {
  const Tensor sums = matmul_integer(without_zero(call, 0, 2, -2), without_zero(call, 3, 5, -1));
  const int rank = sums.rank();
  const Tensor factor = scale_along(call, 1, -2, rank) * scale_along(call, 4, -1, rank) / scale_along(call, 6, -2, rank);
  return quantized(call, cast(sums, f32) * factor, tegula::Tensor(1.0f), wide(call[7]), type_of(call.value(7)), true);
}

Tensor convolved_integers(const Call& call, const Tensor& x, const Tensor& w, const Tensor& x_zero, const Tensor& w_zero) {
  Tensor a = cast(x, i16), b = cast(w, i16);
  if (x_zero.defined()) a = a - cast(reshape(x_zero, {}), i16);
  if (w_zero.defined()) b = b - (w_zero.numel() == 1 ? reshape(cast(w_zero, i16), {}) : along(cast(w_zero, i16), 0, w.rank()));
  const auto [given, options] = convolution_of(call, a, b);
  return conv_integer(given, b, options);
}

Results convolve_quantized(const Call& call) {
  Tensor sums = convolved_integers(call, call[0], call[3], call[2], call[5]);
  if (call.has(8)) sums = sums + along(call[8], 1, sums.rank());
  const Tensor factor = wide(reshape(call[1], {})) * scale_along(call, 4, 1, sums.rank()) / wide(reshape(call[6], {}));
  return quantized(call, cast(sums, f32) * factor, tegula::Tensor(1.0f), wide(reshape(call[7], {})), type_of(call.value(7)), true);
}

constexpr std::string_view kWindow = "auto_pad dilations group kernel_shape pads strides";

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"QuantizeLinear", [](Call& c) -> Results { return quantize(c); }, "axis block_size output_dtype precision saturate"},
    {"DequantizeLinear", [](Call& c) -> Results { return dequantize(c); }, "axis block_size output_dtype"},
    {"DynamicQuantizeLinear", [](Call& c) -> Results { return quantize_dynamically(c); }},
    {"MatMulInteger", [](Call& c) -> Results { return matmul_integer(without_zero(c, 0, 2, -2), without_zero(c, 1, 3, -1)); }},
    {"QLinearMatMul", [](Call& c) -> Results { return matmul_quantized(c); }},
    {"ConvInteger", [](Call& c) -> Results { return convolved_integers(c, c[0], c[1], c.maybe(2), c.maybe(3)); }, kWindow},
    {"QLinearConv", [](Call& c) -> Results { return convolve_quantized(c); }, kWindow},
};
// clang-format on

}  // namespace

Operators quantized_operators() { return kOperators; }

}  // namespace tegula::onnx
