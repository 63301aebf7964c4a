#include "tegula/cuda/handwritten/plain_source.h"

#include <algorithm>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/cuda/handwritten/plain_source.cuh.h"

namespace tegula::gpu {
namespace {

std::string plain_type(const std::string& element, const std::string& sum) {
  return "typedef " + element + " Element;\ntypedef " + sum +
         " Sum;\n"
         "__device__ inline Sum load(const Element* p) { return static_cast<Sum>(*p); }\n"
         "__device__ inline void store(Element* p, Sum value) { *p = static_cast<Element>(value); }\n";
}

/// Stored halves are words: no header of the toolkit is needed. Sums of integers wrap around.
std::string element_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return plain_type("double", "double");
    case DType::f32: return plain_type("float", "float");
    case DType::i64: return plain_type("long long", "unsigned long long");
    case DType::i32: return plain_type("int", "unsigned");
    case DType::i16: return plain_type("short", "unsigned");
    case DType::i8: return plain_type("signed char", "unsigned");
    case DType::u64: return plain_type("unsigned long long", "unsigned long long");
    case DType::u32: return plain_type("unsigned", "unsigned");
    case DType::u16: return plain_type("unsigned short", "unsigned");
    case DType::u8:
    case DType::e4m3:  // moved, never computed with
    case DType::e5m2:
    case DType::boolean: return plain_type("unsigned char", "unsigned");
    case DType::f16:
      return "typedef unsigned short Element;\ntypedef float Sum;\n"
             "__device__ inline Sum load(const Element* p) { Sum value; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(value) : \"h\"(*p)); return "
             "value; }\n"
             "__device__ inline void store(Element* p, Sum value) { asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(*p) : \"f\"(value)); }\n";
    case DType::bf16: break;
  }
  return "typedef unsigned short Element;\ntypedef float Sum;\n"
         "__device__ inline Sum load(const Element* p) { return __uint_as_float(static_cast<unsigned>(*p) << 16); }\n"
         "#if __CUDA_ARCH__ >= 800\n"
         "__device__ inline void store(Element* p, Sum value) { asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(*p) : \"f\"(value)); }\n"
         "#else\n"
         "__device__ inline void store(Element* p, Sum value) {\n"
         "  const unsigned bits = __float_as_uint(value);\n"
         "  *p = value != value ? 0x7fff : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;\n"
         "}\n"
         "#endif\n";
}

/// A value of an expression in C++, as an operand where it is not all.
std::string value_text(const runtime::Expression& e, std::size_t at, bool whole) {
  using tile::Word;
  const runtime::Expression::Value& value = e.values[at];
  if (value.source == runtime::Expression::Source::Result) return "value";
  if (value.source == runtime::Expression::Source::Constant) return "Sum(" + number_text(value.constant) + ")";
  const auto operand = [&](int k, bool alone = false) {
    return value_text(e, static_cast<std::size_t>(value.operands[static_cast<std::size_t>(k)]), alone);
  };
  const auto infix = [&](const char* sign) { return operand(0) + " " + sign + " " + operand(1); };
  std::string text;
  switch (value.word) {
    case Word::Erf: return "erf(" + operand(0, true) + ")";
    case Word::Tanh: return "tanh(" + operand(0, true) + ")";
    case Word::Sigmoid: text = "Sum(1) / (Sum(1) + exp(-" + operand(0) + "))"; break;
    case Word::Neg: text = "-" + operand(0); break;
    case Word::Add: text = infix("+"); break;
    case Word::Sub: text = infix("-"); break;
    case Word::Mul: text = infix("*"); break;
    case Word::Div: text = infix("/"); break;
    case Word::Lt: text = infix("<"); break;
    case Word::Le: text = infix("<="); break;
    case Word::Select: text = operand(0, true) + " ? " + operand(1) + " : " + operand(2); break;
    default:
      throw Error(
          {.op = "epilogue", .got = "the word " + std::string(tile::name(value.word)), .expected = "one of the library's activations"});
  }
  return whole ? text : "(" + text + ")";
}

/// One more than the largest number that counting or addressing the elements needs.
std::int64_t reach(const Layout& layout) {
  std::int64_t last = 1;
  for (int i = 0; i < layout.shape.rank(); ++i) last += std::max<std::int64_t>(layout.shape[i] - 1, 0) * std::abs(layout.strides[i]);
  return std::max(last, numel(layout.shape));
}

}  // namespace

PlainSource::PlainSource(DType dtype, const std::vector<Layout>& layouts) {
  std::int64_t largest = 0;
  for (const Layout& layout : layouts) largest = std::max(largest, reach(layout));
  // Room for a block more, and for windows that begin in the padding.
  const bool narrow = largest < (std::int64_t{1} << 31) - (1 << 20);
  text_ = element_type(dtype) + (narrow ? "typedef int Index;\n" : "typedef long long Index;\n");
  text_ += dtype == DType::f64 ? "#define INFINITE __longlong_as_double(0x7ff0000000000000LL)\n"
                               : "#define INFINITE __int_as_float(0x7f800000)\n";
}

void PlainSource::define(const std::string& name, std::int64_t value) {
  text_ += "#define " + name + " " + (value < 0 ? "(" + std::to_string(value) + ")" : std::to_string(value)) + "\n";
}

void PlainSource::add(std::string text, const std::vector<std::pair<std::string, std::string>>& table) {
  for (const auto& [name, value] : table) {
    const std::string mark = "@" + name + "@";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  }
  text_ += text;
}

std::string tensor_core_product() { return kTensorCoreProduct; }

void activation_function(PlainSource& source, const runtime::Expression& rest) {
  const std::string text = rest.is_empty() ? "value" : value_text(rest, rest.values.size() - 1, true);
  source.add("__device__ Sum activation(Sum value) { return " + text + "; }\n");
}

std::string offset_text(const Layout& layout, const std::vector<std::string>& names) {
  std::string text;
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] == 1 || layout.strides[i] == 0) continue;
    if (!text.empty()) text += " + ";
    text += names[static_cast<std::size_t>(i)];
    if (layout.strides[i] != 1) text += " * " + std::to_string(layout.strides[i]);
  }
  return text.empty() ? "0" : "(" + text + ")";
}

std::string coordinates(const std::string& item, const Layout& layout, const std::vector<std::string>& names) {
  std::vector<int> order;  // the innermost first
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (!names[static_cast<std::size_t>(i)].empty()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return layout.strides[a] < layout.strides[b]; });
  std::string text;
  std::int64_t inner = 1;
  for (const int axis : order) {
    const std::int64_t size = layout.shape[axis];
    std::string value = "0";
    if (size > 1) {
      value = inner == 1 ? item : item + " / " + std::to_string(inner);
      value += " % " + std::to_string(size);
    }
    text += "const Index " + names[static_cast<std::size_t>(axis)] + " = " + value + ";\n  ";
    inner *= std::max<std::int64_t>(size, 1);
  }
  return text;
}

std::string thread_coordinates(const Layout& layout, const std::vector<std::string>& names) {
  return "const Index item = blockIdx.x * Index(256) + threadIdx.x;\n  if (item >= " + std::to_string(numel(layout.shape)) +
         ") return;\n  " + coordinates("item", layout, names);
}

std::string block_coordinates(const Layout& layout, const std::vector<std::string>& names) {
  return "const Index block = blockIdx.x;\n  " + coordinates("block", layout, names);
}

}  // namespace tegula::gpu
