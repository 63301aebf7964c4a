#include <array>
#include <cmath>
#include <limits>

#include "tegula/onnx/file.h"

namespace tegula::onnx {
namespace {

struct TypeName {
  std::string_view name;
  DType dtype = DType::f32;
  bool held = true;
};

constexpr TypeName kNone{"undefined", f32, false};
// By their numbers in TensorProto.DataType.
constexpr std::array<TypeName, 27> kTypes{{kNone,
                                           {"f32", f32},
                                           {"u8", u8},
                                           {"i8", i8},
                                           {"u16", u16},
                                           {"i16", i16},
                                           {"i32", i32},
                                           {"i64", i64},
                                           {"string", f32, false},
                                           {"bool", boolean},
                                           {"f16", f16},
                                           {"f64", f64},
                                           {"u32", u32},
                                           {"u64", u64},
                                           {"complex64", f32, false},
                                           {"complex128", f32, false},
                                           {"bf16", bf16},
                                           {"e4m3", e4m3},
                                           {"e4m3fnuz", f32},
                                           {"e5m2", e5m2},
                                           {"e5m2fnuz", f32},
                                           {"u4", u8},
                                           {"i4", i8},
                                           {"f4e2m1", f32},
                                           {"e8m0", f32},
                                           {"u2", u8},
                                           {"i2", i8}}};

/// A number of `mantissa` bits behind `exponent` bits and a sign, without infinities; the exponent of the least normal number is `least`.
float decoded(unsigned code, int exponent, int mantissa, int least) {
  const unsigned m = code & ((1u << mantissa) - 1), e = code >> mantissa & ((1u << exponent) - 1);
  const double fraction = static_cast<double>(m) / (1 << mantissa);
  const double size = e == 0 ? std::ldexp(fraction, least) : std::ldexp(1 + fraction, least + static_cast<int>(e) - 1);
  return static_cast<float>(code >> (mantissa + exponent) ? -size : size);
}

const TypeName* find(Type type) {
  const auto number = static_cast<std::int64_t>(type);
  return number >= 0 && number < static_cast<std::int64_t>(kTypes.size()) ? &kTypes[static_cast<std::size_t>(number)] : nullptr;
}

}  // namespace

std::string name_of(Type type) {
  const TypeName* known = find(type);
  return known ? std::string(known->name) : "type " + std::to_string(static_cast<std::int32_t>(type));
}

bool has_dtype(Type type) {
  const TypeName* known = find(type);
  return known && known->held;
}

DType dtype_of(Type type) {
  if (has_dtype(type)) return find(type)->dtype;
  throw Error({.op = "onnx", .got = "elements of the type " + name_of(type), .expected = "a type that tensors have here"});
}

bool is_small_float(Type type) {
  return type == Type::Float8E4M3Fnuz || type == Type::Float8E5M2Fnuz || type == Type::Float4E2M1 || type == Type::Float8E8M0;
}

float small_float(Type type, unsigned code) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  switch (type) {
    case Type::Float8E4M3Fnuz: return code == 0x80 ? kNaN : decoded(code, 4, 3, -7);
    case Type::Float8E5M2Fnuz: return code == 0x80 ? kNaN : decoded(code, 5, 2, -15);
    case Type::Float4E2M1: return decoded(code, 2, 1, 0);
    default: return code == 0xff ? kNaN : static_cast<float>(std::ldexp(1.0, static_cast<int>(code) - 127));
  }
}

Type type_of(DType dtype) {
  for (std::size_t i = 1; i < kTypes.size(); ++i)
    if (kTypes[i].held && kTypes[i].dtype == dtype) return static_cast<Type>(i);
  return Type::Undefined;
}

HostArray packed_int4(const HostArray& numbers) {
  HostArray out = HostArray::empty(u8, {(numbers.size() + 1) / 2});
  const auto* const from = static_cast<const std::uint8_t*>(numbers.size() > 0 ? numbers.buffer->data() : nullptr);
  const auto to = out.values<std::uint8_t>();
  for (std::int64_t i = 0; i < numbers.size(); ++i) {
    const auto at = static_cast<std::size_t>(i / 2);
    const unsigned half = from[i] & 15u;
    to[at] = static_cast<std::uint8_t>(i % 2 == 0 ? half : to[at] | half << 4);
  }
  return out;
}

}  // namespace tegula::onnx
