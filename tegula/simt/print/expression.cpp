// Types and expressions as CUDA C++.

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tegula/simt/print/print.h"

namespace tegula::simt {

namespace {

using Kind = Expression::Kind;

const char* computed_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::i64: return "long long";
    case DType::i32: return "int";
    case DType::u64: return "unsigned long long";
    case DType::u32: return "unsigned int";
    default: return "bool";
  }
}

const char* stored_name(DType dtype) {
  switch (dtype) {
    case DType::f16: return "Float16";
    case DType::bf16: return "BFloat16";
    case DType::e4m3: return "E4M3";
    case DType::e5m2: return "E5M2";
    case DType::u16: return "unsigned short";
    case DType::i16: return "short";
    case DType::i8: return "signed char";
    case DType::u8: return "unsigned char";
    case DType::boolean: return "Boolean";
    default: return computed_name(dtype);
  }
}

void put_list(std::string& out, const Expressions& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out += ", ";
    put(out, all[i]);
  }
}

}  // namespace

std::string literal(double value, DType dtype) {
  const std::string type = dtype == DType::f32 ? "float" : "double";
  if (dtype == DType::f32) value = static_cast<double>(static_cast<float>(value));
  if (std::isnan(value)) return "not_a_number<" + type + ">()";
  if (std::isinf(value)) return (value < 0 ? "-" : "") + std::string("infinite<") + type + ">()";
  char text[48];
  std::snprintf(text, sizeof text, dtype == DType::f32 ? "%.9g" : "%.17g", value);
  std::string number = text;
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  if (dtype == DType::f32) number += "f";
  return value < 0 || std::signbit(value) ? "(" + number + ")" : number;
}

std::string literal(std::int64_t value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  if (dtype == DType::u64) return std::to_string(static_cast<std::uint64_t>(value)) + "ull";
  if (dtype == DType::u32) return std::to_string(value) + "u";
  const std::string suffix = dtype == DType::i64 ? "ll" : "";
  const bool least =
      dtype == DType::i64 ? value == std::numeric_limits<std::int64_t>::min() : value == std::numeric_limits<std::int32_t>::min();
  if (least) return "(" + std::to_string(value + 1) + suffix + " - 1)";
  const std::string number = std::to_string(value) + suffix;
  return value < 0 ? "(" + number + ")" : number;
}

void put(std::string& out, std::int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void put(std::string& out, const Type& type) {
  if (type.constant) out += "const ";
  switch (type.kind) {
    case Type::Kind::Computed: out += computed_name(type.dtype); break;
    case Type::Kind::Stored: out += stored_name(type.dtype); break;
    case Type::Kind::Wide:
    case Type::Kind::Packed:
      out += "Wide<", out += stored_name(type.dtype), out += ", ", put(out, std::int64_t{type.count}), out += ">";
      break;
    case Type::Kind::Placed: out += "Placed<", out += computed_name(type.dtype), out += ">"; break;
    case Type::Kind::Unsigned: out += size_of(type.dtype) == 4 ? "unsigned int" : "unsigned long long"; break;
    case Type::Kind::Byte: out += "unsigned char"; break;
  }
  out.append(static_cast<std::size_t>(type.pointers), '*');
}

void put(std::string& out, const Operation& operation) {
  if (operation.placed) {
    out += "Best<", out += computed_name(operation.dtype), out += operation.kind == tile::Reduction::Min ? ", true>" : ", false>";
    return;
  }
  const std::size_t first = out.size();
  out += tile::name(operation.kind);
  out[first] = static_cast<char>(out[first] - 'a' + 'A');
  out += "<", out += computed_name(operation.dtype), out += ">";
}

void put(std::string& out, const Expression& e) {
  switch (e.kind) {
    case Kind::Name: e.name.append_to(out); return;
    case Kind::Held: {
      const char* const places[] = {"", "[r]", "[c]", "[r][c]", "[c][k]", "[r][c][k]"};
      e.name.append_to(out), out += places[static_cast<std::size_t>(e.place)];
      return;
    }
    case Kind::Element:
      e.name.append_to(out);
      for (const Expression& index : e.operands) out += "[", put(out, index), out += "]";
      return;
    case Kind::Integer: put(out, e.integer); return;
    case Kind::Number:
      if (e.type.kind == Type::Kind::Unsigned) out += std::to_string(e.integer) + "u";
      else out += is_float(e.type.dtype) ? literal(e.real(), e.type.dtype) : literal(e.integer, e.type.dtype);
      return;
    case Kind::Unary: e.name.append_to(out), put(out, e.operands[0]); return;
    case Kind::Binary: put(out, e.operands[0]), out += " ", e.name.append_to(out), out += " ", put(out, e.operands[1]); return;
    case Kind::Choose: put(out, e.operands[0]), out += " ? ", put(out, e.operands[1]), out += " : ", put(out, e.operands[2]); return;
    case Kind::Call: e.name.append_to(out), out += "(", put_list(out, e.operands), out += ")"; return;
    case Kind::Cast: out += "static_cast<", put(out, e.type), out += ">(", put(out, e.operands[0]), out += ")"; return;
    case Kind::Reinterpret: out += "reinterpret_cast<", put(out, e.type), out += ">(", put(out, e.operands[0]), out += ")"; return;
    case Kind::Group: out += "(", put(out, e.operands[0]), out += ")"; return;
    case Kind::Tuple: out += "{", put_list(out, e.operands), out += "}"; return;
    case Kind::Load: out += "widen(*", put(out, e.operands[0]), out += ")"; return;
    case Kind::Fold: put(out, e.operation), out += "::of(", put_list(out, e.operands), out += ")"; return;
    case Kind::Nothing: put(out, e.operation), out += "::nothing()"; return;
    case Kind::FoldVector: out += "of_vector<", put(out, e.operation), out += ">(", put(out, e.operands[0]), out += ")"; return;
    case Kind::Widen: out += "element_of(", put_list(out, e.operands), out += ")"; return;
    case Kind::Member: put(out, e.operands[0]), out += ".", e.name.append_to(out); return;
    case Kind::Round: out += "rounded<", put(out, e.type), out += ">(", put(out, e.operands[0]), out += ")"; return;
  }
}

std::string text(const Expression& expression) {
  std::string out;
  put(out, expression);
  return out;
}

}  // namespace tegula::simt
