#include "tegula/graph/e4m3.h"

#include <cmath>

#include "tegula/graph/graph_ops.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/tensor.h"
#include "tegula/tile/builder.h"

namespace tegula {
namespace {

using tile::Value;
using tile::Word;

constexpr double kLargest = 448, kLeastNormal = 0x1p-6, kSubnormals = 512;  // the last: per unit
constexpr int kDropped = 20;                                                // bits of an f32's mantissa that E4M3 lacks
constexpr double kSignBit = -2147483648.0;
constexpr double kLeastFactor = 0x1p-100;

Value bits_of(Value x) { return tile::bitcast(x, i32); }
Value magnitude_of(Value bits) { return bits & tile::number(0x7fffffff, bits); }

/// The least power of two that is no less than x, x normal and positive.
Value up_to_power_of_two(Value x) {
  const Value bits = bits_of(x), power = bits & tile::number(0x7f800000, bits);
  return tile::bitcast(tile::select(power == bits, power, power + 0x800000), f32);
}

struct Rounded {
  Value number, bits;  // the magnitude, rounded to the nearest of E4M3
  Value sign;          // bit 31
  Value small;         // true below the smallest normal number
};

/// x is limited to ±448, or NaN.
Rounded rounded(Value x) {
  const Value bits = bits_of(x), magnitude = magnitude_of(bits), number = tile::bitcast(magnitude, f32);
  const Value odd = tile::binary(Word::Shr, magnitude, tile::number(kDropped, bits)) & tile::number(1, bits);
  const Value normal = (magnitude + ((1 << (kDropped - 1)) - 1) + odd) & tile::number(-(1 << kDropped), bits);
  const Value small = number < kLeastNormal;
  const Value subnormal = tile::unary(Word::Round, number * kSubnormals) * (1 / kSubnormals);
  return {tile::select(small, subnormal, tile::bitcast(normal, f32)), normal, bits & tile::number(kSignBit, bits), small};
}

Value limited(Value x, Value factor) {
  const Value scaled = x * (1.0 / factor);
  return tile::binary(Word::Max, tile::binary(Word::Min, scaled, tile::number(kLargest, scaled)), tile::number(-kLargest, scaled));
}

/// Nearest number of E4M3, ties to even.
double nearest(double x) {
  if (std::isnan(x)) return x;
  const double limited = std::fmin(std::fabs(x), kLargest);
  const int exponent = limited < kLeastNormal ? -6 : std::ilogb(limited);
  return std::copysign(std::nearbyint(std::ldexp(limited, 3 - exponent)) * std::ldexp(1.0, exponent - 3), x);
}

class FactorOp final : public ElementwiseOp {
 public:
  std::string_view name() const override { return "e4m3_factor"; }
  Numerics numerics() const override { return Numerics::Full; }
  Value emit(tile::Builder&, std::span<const Value> x, DType) const override {
    const Value least = tile::binary(Word::Max, x[0] * (1 / kLargest), tile::number(kLeastFactor, x[0]));
    const Value usable = (x[0] > 0.0) && (x[0] < HUGE_VAL);
    return tile::select(usable, up_to_power_of_two(least), tile::number(1, x[0]));
  }
  double reference(std::span<const double> x) const override {
    if (!(x[0] > 0) || std::isinf(x[0])) return 1;
    const double least = std::fmax(x[0] / kLargest, kLeastFactor);
    const double power = std::ldexp(1.0, std::ilogb(least));
    return power < least ? 2 * power : power;
  }
};

class RoundOp final : public ElementwiseOp {
 public:
  std::string_view name() const override { return "e4m3_round"; }
  Value emit(tile::Builder&, std::span<const Value> x, DType) const override {
    const Value within = limited(x[0], x[1]);
    const Rounded r = rounded(within);
    const Value signed_number = tile::bitcast(bits_of(r.number) | r.sign, f32) * x[1];
    return tile::select(within == within, signed_number, within);
  }
  double reference(std::span<const double> x) const override { return nearest(x[0] / x[1]) * x[1]; }
  std::vector<Tensor> gradient(const Node&, const Tensor& dy, const std::vector<bool>&) const override { return {dy, Tensor()}; }
};

class EncodeOp final : public ElementwiseOp {
 public:
  std::string_view name() const override { return "e4m3_encode"; }
  Numerics numerics() const override { return Numerics::Full; }
  Value emit(tile::Builder&, std::span<const Value> x, DType) const override {
    const Value within = limited(x[0], x[1]);
    const Rounded r = rounded(within);
    const Value number = tile::number(0, r.bits);
    const Value normal = tile::binary(Word::Shr, r.bits, tile::number(kDropped, r.bits)) - (127 - 7) * 8;
    const Value subnormal = tile::cast(r.number * kSubnormals, i32);
    const Value sign = tile::select(r.sign == number, number, tile::number(0x80, r.bits));
    return tile::select(within == within, tile::select(r.small, subnormal, normal) | sign, tile::number(0x7f, r.bits));
  }
  double reference(std::span<const double> x) const override {
    const double y = nearest(x[0] / x[1]);
    if (std::isnan(y)) return 0x7f;
    const double magnitude = std::fabs(y), sign = std::signbit(y) ? 0x80 : 0;
    if (magnitude < kLeastNormal) return sign + magnitude * kSubnormals;
    const int exponent = std::ilogb(magnitude);
    return sign + 8 * (exponent + 7) + std::ldexp(magnitude, 3 - exponent) - 8;
  }
};

Value shifted_left(Value x, int bits) { return tile::binary(Word::Shl, x, tile::number(bits, x)); }

class DecodeOp final : public ElementwiseOp {
 public:
  std::string_view name() const override { return "e4m3_decode"; }
  Numerics numerics() const override { return Numerics::Full; }
  Value emit(tile::Builder&, std::span<const Value> x, DType) const override {
    const Value code = x[0], magnitude = code & tile::number(0x7f, code);
    const Value normal = shifted_left(magnitude + (127 - 7) * 8, kDropped), subnormal = tile::cast(magnitude, f32) * (1 / kSubnormals);
    const Value number = tile::select(magnitude < tile::number(8, magnitude), bits_of(subnormal), normal);
    const Value seen = tile::select(magnitude == tile::number(0x7f, magnitude), tile::number(0x7fc00000, magnitude), number);
    return tile::bitcast(seen | shifted_left(code & tile::number(0x80, code), 24), f32) * x[1];
  }
  double reference(std::span<const double> x) const override {
    const int code = static_cast<int>(x[0]), magnitude = code & 0x7f, mantissa = magnitude % 8;
    if (magnitude == 0x7f) return std::nan("");
    const double number = magnitude < 8 ? magnitude / kSubnormals : std::ldexp(8 + mantissa, magnitude / 8 - 7 - 3);
    return (code & 0x80 ? -number : number) * x[1];
  }
};

constexpr int kMantissa = 23;  // bits of an f32's

class EncodeFactorOp final : public ElementwiseOp {
 public:
  std::string_view name() const override { return "e8m0_encode"; }
  Numerics numerics() const override { return Numerics::Full; }
  Value emit(tile::Builder&, std::span<const Value> x, DType) const override {
    return tile::binary(Word::Shr, magnitude_of(bits_of(x[0])), tile::number(kMantissa, bits_of(x[0])));
  }
  double reference(std::span<const double> x) const override { return std::ilogb(x[0]) + 127; }
};

class DecodeFactorOp final : public ElementwiseOp {
 public:
  std::string_view name() const override { return "e8m0_decode"; }
  Numerics numerics() const override { return Numerics::Full; }
  Value emit(tile::Builder&, std::span<const Value> x, DType) const override { return tile::bitcast(shifted_left(x[0], kMantissa), f32); }
  double reference(std::span<const double> x) const override { return std::ldexp(1.0, static_cast<int>(x[0]) - 127); }
};

}  // namespace

void add_e4m3_ops(OpTable& table) {
  for (const auto& op : {e4m3_factor_op(), e8m0_encode_op(), e8m0_decode_op()}) table.add_op(op, 1);
  for (const auto& op : {e4m3_round_op(), e4m3_encode_op(), e4m3_decode_op()}) table.add_op(op, 2);
}

const Ref<const Op>& e4m3_factor_op() {
  static const Ref<const Op> op(new FactorOp);
  return op;
}
const Ref<const Op>& e4m3_round_op() {
  static const Ref<const Op> op(new RoundOp);
  return op;
}
const Ref<const Op>& e4m3_encode_op() {
  static const Ref<const Op> op(new EncodeOp);
  return op;
}
const Ref<const Op>& e4m3_decode_op() {
  static const Ref<const Op> op(new DecodeOp);
  return op;
}
const Ref<const Op>& e8m0_encode_op() {
  static const Ref<const Op> op(new EncodeFactorOp);
  return op;
}
const Ref<const Op>& e8m0_decode_op() {
  static const Ref<const Op> op(new DecodeFactorOp);
  return op;
}

}  // namespace tegula
