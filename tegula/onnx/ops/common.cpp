#include "tegula/onnx/ops/common.h"

#include <limits>

#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {

Shape shape_of(const Call& call, const std::vector<std::int64_t>& sizes) {
  const Dims out = dims_of(call, sizes);
  for (const std::int64_t size : out)
    if (size < 0) call.refuse("a size of " + std::to_string(size), "sizes of at least 0");
  return out;
}

Type type_of(const Value& value) { return value.narrow != Type::Undefined ? value.narrow : type_of(value.tensor.dtype()); }

namespace {

struct Bounds {
  double low, high;
};

Bounds bounds_of(Type type) {
  switch (type) {
    case Type::Uint2: return {0, 3};
    case Type::Int2: return {-2, 1};
    case Type::Uint4: return {0, 15};
    case Type::Int4: return {-8, 7};
    case Type::Uint8: return {0, 255};
    case Type::Int8: return {-128, 127};
    case Type::Uint16: return {0, 65535};
    case Type::Int16: return {-32768, 32767};
    case Type::Int32: return {-2147483648.0, 2147483647.0};
    case Type::Float8E4M3: return {-448, 448};
    case Type::Float8E5M2: return {-57344, 57344};
    default: return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
}

/// The lowest bits of integers, with the sign of the highest one kept.
Tensor lowest_bits(const Tensor& x, Type to) {
  const std::int64_t count = to == Type::Uint2 || to == Type::Int2 ? 4 : 16;
  const Tensor bits = remainder(cast(x, i32), count);
  if (to == Type::Uint4 || to == Type::Uint2) return cast(bits, u8);
  return cast(where(bits >= count / 2, bits - count, bits), i8);
}

/// Rounded to the nearest, ties to the even one, of the numbers of f4e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6.
Tensor as_f4(const Tensor& x) {
  const Tensor size = minimum(abs(x), 6.0);
  const Tensor y = where(size < 2.0, round(size * 2.0) / 2.0, where(size < 4.0, round(size), round(size / 2.0) * 2.0));
  return where(isnan(x), 0.0, where(x < 0.0, -y, y));
}

/// Twice a number of the fnuz kind is one of the other kind, but for the greatest numbers, which lie `step` apart.
Tensor as_fnuz(const Tensor& x, DType other, double most, double step, bool saturates) {
  const Tensor size = abs(x), limited = minimum(size, most);
  const double first = other == DType::e4m3 ? 224 : 28672;  // from here on the other kind has no numbers
  const Tensor small = cast(cast(minimum(limited, first) * 2.0, other), f32) / 2.0;
  const Tensor y = where(limited <= first, small, minimum(round(limited / step) * step, most));
  const Tensor in_range = saturates ? y : where(size >= most + step / 2, std::numeric_limits<double>::quiet_NaN(), y);
  return where(isnan(x), x, where(x < 0.0, -in_range, in_range));
}

Tensor as_small_float(const Call& call, const Tensor& x, Type to, bool saturates) {
  if (to == Type::Float4E2M1) return as_f4(x);
  if (to == Type::Float8E4M3Fnuz) return as_fnuz(x, DType::e4m3, 240, 16, saturates);
  if (to == Type::Float8E5M2Fnuz) return as_fnuz(x, DType::e5m2, 57344, 8192, saturates);
  call.refuse("a conversion to " + name_of(to), "one from it");
}

}  // namespace

Tensor saturated(const Tensor& x, Type to) {
  const Bounds bounds = bounds_of(to);
  return clamp(x, bounds.low, bounds.high);
}

Value converted(const Call& call, const Value& value, Type to, bool saturates) {
  if (!has_dtype(to)) call.refuse("the type " + name_of(to), "a type that tensors have here");
  if (value.kind != Value::Kind::Tensor) call.refuse("a sequence", "a tensor");
  const Tensor& x = value.tensor;
  const DType dtype = dtype_of(to);
  if (is_small_float(to)) {
    Value out(as_small_float(call, cast(x, f32), to, saturates));
    out.narrow = to;
    return out;
  }
  if (is_float8(dtype) && saturates && x.dtype() != dtype)
    return cast(saturated(cast(x, is_float8(x.dtype()) ? f32 : x.dtype()), to), dtype);
  if (to == type_of(dtype)) return cast(x, dtype);
  Value out(lowest_bits(is_float(x.dtype()) ? cast(trunc(cast(x, f32)), i32) : x, to));
  out.narrow = to;
  return out;
}

Tensor along(const Tensor& x, int axis, int rank) {
  Shape shape = Dims::filled(rank, 1);
  shape[axis] = x.numel();
  return reshape(x, shape);
}

}  // namespace tegula::onnx
