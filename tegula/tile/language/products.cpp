#include "tegula/tile/language/products.h"

#include <string>

#include "tegula/core/error.h"
#include "tegula/tile/language/shapes.h"

namespace tegula::tile {

using language::Content, language::said, language::Within;

namespace {

[[noreturn]] void refuse(std::string_view word, std::string got, std::string expected, const Line& where, std::string advice = "") {
  throw Error(
      {.op = std::string(word), .got = std::move(got), .expected = std::move(expected), .advice = std::move(advice), .where = where});
}

std::string type_text(const Content& x) {
  Type type = x.value.type();
  type.dtype = x.dtype;
  return to_string(type);
}

const Content& tile_of(std::string_view word, const TileArg& x) {
  x.builder();
  if (!x.is_number() && !x.content.value.type().pointer) return x.content;
  refuse(word, x.is_number() ? "a number" : type_text(x.content), "a tile", x.where);
}

Value converted(const Content& x, DType dtype) { return x.dtype == dtype ? x.value : cast(x.value, dtype); }
Content stored(Value value, DType from, DType to) { return {from == to ? value : cast(value, to), to}; }

/// (…, M, N).
Shape shape_of_product(std::string_view word, const Content& a, const Content& b, const Shape& m, const Shape& n, const Line& where) {
  const int rank = m.rank();
  const bool fits = rank == n.rank() && (rank == 2 || rank == 3) && m[rank - 1] == n[rank - 2] && (rank == 2 || m[0] == n[0]);
  if (!fits) refuse(word, type_text(a) + ", " + type_text(b), "shapes (M, K), (K, N), or (B, M, K), (B, K, N)", where);
  Shape out = m;
  out[rank - 1] = n[rank - 1];
  return out;
}

/// The dtype of sums of products of these dtypes; nothing if there is none.
std::optional<DType> sum_dtype(DType a, DType b) {
  if (is_float8(a) && is_float8(b)) return f32;
  if (a != b || a == boolean || a == i64 || a == u64) return std::nullopt;
  return is_float(a) ? compute_type(a) : a == u32 ? u32 : i32;
}

/// To nearest, ties away from zero, as the hardware's conversion does it.
Value as_tf32(Value x) {
  const Value bits = bitcast(x, i32), rounded = bitcast((bits + number(0x1000, bits)) & number(-0x2000, bits), f32);
  return select(unary(Word::IsNan, x), x, rounded);
}

Value product(Value a, Value b, Value sums, const DotOptions& options) {
  const InputPrecision precision = options.input_precision;
  if (options.max_num_imprecise_acc > 0)
    return a.builder()->emit(Word::Dot, sums.type(), {a.id(), b.id(), sums.id()}, options.max_num_imprecise_acc);
  if (a.dtype() != f32 || precision == InputPrecision::IEEE) return dot(a, b, sums);
  const Value x = as_tf32(a), y = as_tf32(b);
  if (precision == InputPrecision::TF32) return dot(x, y, sums);
  const Value small_x = as_tf32(a - x), small_y = as_tf32(b - y), none = broadcast(number(0, sums), sums.shape());
  const Value rest = dot(x, small_y, dot(small_x, y, none));
  return dot(x, y, select(unary(Word::IsNan, rest), number(0, rest), rest)) + sums;  // inf - inf is no number, and leaves none over
}

Tile dot_of(const TileArg& a, const TileArg& b, const TileArg* accumulator, const DotOptions& options) {
  const Content &x = tile_of("dot", a), &y = tile_of("dot", b);
  const auto sums = sum_dtype(x.dtype, y.dtype);
  if (!sums) {
    refuse("dot", std::string(name(x.dtype)) + " and " + std::string(name(y.dtype)),
           "operands of one dtype: a float, or an integer of 32 bits or fewer", a.where, "cast one of them");
  }
  const Shape shape = shape_of_product("dot", x, y, x.value.shape(), y.value.shape(), a.where);
  const Content before =
      accumulator ? tile_of("dot", *accumulator) : Content{broadcast(a.builder().constant(std::int64_t{0}, *sums), shape), *sums};
  if (before.value.shape() != shape) refuse("dot", "an accumulator of type " + type_text(before), "shape " + to_string(shape), a.where);
  const std::int64_t imprecise = options.max_num_imprecise_acc, terms = x.value.shape()[x.value.shape().rank() - 1];
  if (imprecise != 0 && (!is_float8(x.dtype) || imprecise < 0 || imprecise % 32 != 0 || imprecise > terms)) {
    refuse("dot",
           "max_num_imprecise_acc of " + std::to_string(imprecise) + " for " + std::string(name(x.dtype)) + " and K of " +
               std::to_string(terms),
           "floats of 8 bits, and a multiple of 32 that is at most K", a.where);
  }
  DotOptions given = options;
  if (x.dtype != f32) given.input_precision = InputPrecision::IEEE;  // halves and bytes are multiplied as they are
  const Value result = product(converted(x, *sums), converted(y, *sums), converted(before, *sums), given);
  return said(stored(result, *sums, options.out_dtype.value_or(before.dtype)), a.where);
}

// dot_scaled: its operands as f32.

Value int_number(double x, Value like) { return number(x, like); }
Value shifted_left(Value x, int bits) { return binary(Word::Shl, x, int_number(bits, x)); }
Value shifted_right(Value x, int bits) { return binary(Word::Shr, x, int_number(bits, x)); }

/// The values of 8-bit codes, i32 -> f32.
template <int kMantissa>
Value number_of(Value code) {
  using Format = Float8Format<kMantissa>;
  const Value magnitude = code & int_number(0x7f, code);
  const Value normal = shifted_left(magnitude + int_number(Format::kShift, code), Format::kDropped);
  const Value small = bitcast(cast(magnitude, f32) * bitcast(int_number(Format::kLeast, code), f32), i32);
  Value word = select(magnitude < int_number(1 << kMantissa, code), small, normal);
  if (Format::kInfinite) word = select(magnitude == int_number(Format::kBeyond, code), int_number(0x7f800000, code), word);
  word = select(magnitude > int_number(Format::kLastNumber, code), int_number(0x7fc00000, code), word);
  return bitcast(word | shifted_left(code & int_number(0x80, code), 24), f32);
}

/// The same of 4 bits: one of sign, two of exponent, one of mantissa.
Value number_of_four(Value code) {
  const Value exponent = shifted_right(code, 1) & int_number(3, code), half = code & int_number(1, code);
  const Value normal = shifted_left(exponent + int_number(126, code), 23) | shifted_left(half, 22);
  const Value word = select(exponent == int_number(0, code), half * int_number(0x3f000000, code), normal);
  return bitcast(word | shifted_left(code & int_number(8, code), 28), f32);
}

/// An axis of size n as n / 2 pairs: (…, n, …) -> (…, 2 n, …), low halves first.
Value unpacked(Builder& b, Value bytes, int axis) {
  Shape pairs = bytes.shape(), both = pairs, which = Dims::filled(pairs.rank() + 1, 1);
  pairs.insert(axis + 1, 1);
  which[axis + 1] = 2;
  both[axis] *= 2;
  const Value code = reshape(bytes, pairs), second = reshape(b.arange(0, 2), which) == 1;
  return reshape(number_of_four(select(second, shifted_right(code, 4), code & int_number(15, code))), both);
}

struct Operand {
  const TileArg& x;
  const ScaleArg& scale;
  ScaledFormat format;
  bool k_pack, is_right;
};

Value as_f32(const Operand& o) {
  const Content& x = tile_of("dot_scaled", o.x);
  constexpr DType kTypes[] = {u8, e4m3, e5m2, bf16, f16};  // in the order of ScaledFormat
  const DType wanted = kTypes[static_cast<std::size_t>(o.format)];
  const bool codes = x.dtype == u8 && (is_float8(wanted) || wanted == u8);
  if (x.dtype != wanted && !codes)
    refuse("dot_scaled", type_text(x), "a tile of " + std::string(name(wanted)) + (is_float8(wanted) ? ", or of u8, its codes" : ""),
           o.x.where);
  if (o.format == ScaledFormat::E2M1) {
    const int rank = x.value.shape().rank();
    return unpacked(o.x.builder(), x.value, o.k_pack != o.is_right ? rank - 1 : rank - 2);
  }
  if (!o.k_pack) refuse("dot_scaled", "an operand that is not packed along K", "two numbers in a byte: the format E2M1", o.x.where);
  if (!codes) return x.value;
  return o.format == ScaledFormat::E4M3 ? number_of<3>(x.value) : number_of<2>(x.value);
}

/// The scales (…, rows, K / 32) of f32 and of x's shape; those of the right operand (…, N, K / 32) lie the other way round.
Value scaled(Value x, const Operand& o) {
  constexpr std::int64_t kBlock = 32;
  if (!o.scale.codes) return x;
  const TileArg& given = *o.scale.codes;
  const Content& codes = tile_of("dot_scaled", given);
  const Shape& shape = x.shape();
  const int rank = shape.rank(), along = o.is_right ? rank - 2 : rank - 1, rows = o.is_right ? rank - 1 : rank - 2;
  Shape expected = shape;
  expected[rank - 2] = shape[rows], expected[rank - 1] = shape[along] / kBlock;
  if (codes.dtype != u8 || codes.value.shape() != expected || shape[along] % kBlock != 0)
    refuse("dot_scaled", "scales " + type_text(codes) + " for " + to_string(x.type()),
           "u8" + to_string(expected) + ": one for each 32 elements along K", given.where);
  Value code = codes.value;
  if (o.is_right) code = rank == 2 ? transpose(code) : permute(Tile(codes, given.where), {0, 2, 1}).get(given.where).value;
  Shape blocks = code.shape(), spread = blocks;
  blocks.insert(along + 1, 1);
  spread.insert(along + 1, kBlock);
  const Value spread_code = reshape(broadcast(reshape(code, blocks), spread), shape);
  // 2^(code - 127): of code 0 it is no normal number.
  const Value word = binary(Word::Max, shifted_left(spread_code, 23), int_number(0x400000, code));
  return x * bitcast(select(spread_code == int_number(255, code), int_number(0x7fc00000, code), word), f32);
}

Tile scaled_dot(const Operand& a, const Operand& b, const TileArg* accumulator, const ScaledOptions& options) {
  const Line& where = a.x.where;
  const Value x = as_f32(a), y = as_f32(b);
  const Shape shape = shape_of_product("dot_scaled", {x, f32}, {y, f32}, x.shape(), y.shape(), where);
  const Content before =
      accumulator ? tile_of("dot_scaled", *accumulator) : Content{broadcast(a.x.builder().constant(0.0, f32), shape), f32};
  if (before.value.shape() != shape)
    refuse("dot_scaled", "an accumulator of type " + type_text(before), "shape " + to_string(shape), where);
  const Value result = dot(scaled(x, a), scaled(y, b), converted(before, f32));
  return said(stored(result, f32, options.out_dtype.value_or(before.dtype)), where);
}

}  // namespace

Tile dot(TileArg a, TileArg b, const DotOptions& options) { return dot_of(a, b, nullptr, options); }
Tile dot(TileArg a, TileArg b, TileArg accumulator, const DotOptions& options) { return dot_of(a, b, &accumulator, options); }

Tile dot_scaled(TileArg lhs, const ScaleArg& lhs_scale, ScaledFormat lhs_format, TileArg rhs, const ScaleArg& rhs_scale,
                ScaledFormat rhs_format, const ScaledOptions& options) {
  return scaled_dot({lhs, lhs_scale, lhs_format, options.lhs_k_pack, false}, {rhs, rhs_scale, rhs_format, options.rhs_k_pack, true},
                    nullptr, options);
}
Tile dot_scaled(TileArg lhs, const ScaleArg& lhs_scale, ScaledFormat lhs_format, TileArg rhs, const ScaleArg& rhs_scale,
                ScaledFormat rhs_format, TileArg accumulator, const ScaledOptions& options) {
  return scaled_dot({lhs, lhs_scale, lhs_format, options.lhs_k_pack, false}, {rhs, rhs_scale, rhs_format, options.rhs_k_pack, true},
                    &accumulator, options);
}

}  // namespace tegula::tile
