// Types and expressions as CUDA C++.

#include "tegula/simt/analysis.h"
#include "tegula/simt/print/print.h"

namespace tegula::simt {

namespace {

using Kind = Expression::Kind;
using gpu::literal;

std::string computed_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::i64: return "long long";
    case DType::i32: return "int";
    default: return "bool";
  }
}

std::string stored_name(DType dtype) {
  switch (dtype) {
    case DType::f16: return "Float16";
    case DType::bf16: return "BFloat16";
    case DType::i16: return "short";
    case DType::i8: return "signed char";
    case DType::u8: return "unsigned char";
    case DType::boolean: return "Boolean";
    default: return computed_name(dtype);
  }
}

void put_list(std::string& out, const std::vector<Expression>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out += ", ";
    put(out, all[i]);
  }
}

}  // namespace

std::string name_of(const Type& type) {
  std::string name;
  switch (type.kind) {
    case Type::Kind::Computed: name = computed_name(type.dtype); break;
    case Type::Kind::Stored: name = stored_name(type.dtype); break;
    case Type::Kind::Wide: name = "Wide<" + stored_name(type.dtype) + ", " + std::to_string(type.count) + ">"; break;
    case Type::Kind::Placed: name = "Placed<" + computed_name(type.dtype) + ">"; break;
    case Type::Kind::Unsigned: name = type.dtype == DType::i32 ? "unsigned int" : "unsigned long long"; break;
    case Type::Kind::Byte: name = "unsigned char"; break;
  }
  name.append(static_cast<std::size_t>(type.pointers), '*');
  return (type.constant ? "const " : "") + name;
}

std::string name_of(const Operation& operation) {
  if (operation.placed) return "Best<" + computed_name(operation.dtype) + (operation.kind == tile::Reduction::Min ? ", true>" : ", false>");
  std::string name(tile::name(operation.kind));
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name + "<" + computed_name(operation.dtype) + ">";
}

void put(std::string& out, const Expression& e) {
  switch (e.kind) {
    case Kind::Name: out += e.name; return;
    case Kind::Held: {
      const char* const places[] = {"", "[r]", "[c]", "[r][c]", "[c][k]", "[r][c][k]"};
      out += e.name, out += places[static_cast<std::size_t>(e.place)];
      return;
    }
    case Kind::Element:
      out += e.name;
      for (const Expression& index : e.operands) out += "[", put(out, index), out += "]";
      return;
    case Kind::Integer: out += std::to_string(e.integer); return;
    case Kind::Number:
      if (e.type.kind == Type::Kind::Unsigned) out += std::to_string(e.integer) + "u";
      else out += is_float(e.type.dtype) ? literal(e.real(), e.type.dtype) : literal(e.integer, e.type.dtype);
      return;
    case Kind::Unary: out += e.name, put(out, e.operands[0]); return;
    case Kind::Binary: put(out, e.operands[0]), out += " ", out += e.name, out += " ", put(out, e.operands[1]); return;
    case Kind::Choose:
      put(out, e.operands[0]), out += " ? ", put(out, e.operands[1]), out += " : ", put(out, e.operands[2]);
      return;
    case Kind::Call: out += e.name, out += "(", put_list(out, e.operands), out += ")"; return;
    case Kind::Cast: out += "static_cast<" + name_of(e.type) + ">(", put(out, e.operands[0]), out += ")"; return;
    case Kind::Reinterpret: out += "reinterpret_cast<" + name_of(e.type) + ">(", put(out, e.operands[0]), out += ")"; return;
    case Kind::Group: out += "(", put(out, e.operands[0]), out += ")"; return;
    case Kind::Tuple: out += "{", put_list(out, e.operands), out += "}"; return;
    case Kind::Load: out += "widen(*", put(out, e.operands[0]), out += ")"; return;
    case Kind::Fold: out += name_of(e.operation) + "::of(", put_list(out, e.operands), out += ")"; return;
    case Kind::Nothing: out += name_of(e.operation) + "::nothing()"; return;
    case Kind::FoldVector: out += "of_vector<" + name_of(e.operation) + ">(", put(out, e.operands[0]), out += ")"; return;
    case Kind::Member: put(out, e.operands[0]), out += "." + e.name; return;
    case Kind::Round: out += "rounded<" + name_of(e.type) + ">(", put(out, e.operands[0]), out += ")"; return;
  }
}

std::string text(const Expression& expression) {
  std::string out;
  put(out, expression);
  return out;
}

}  // namespace tegula::simt
