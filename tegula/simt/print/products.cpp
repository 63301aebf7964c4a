// The functions of wgmma, of which a kernel has those that it calls.

#include "tegula/simt/print/print.h"

namespace tegula::simt {

namespace {

/// Returns PTX's name of operands of that dtype.
std::string operand_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return "tf32";
    case DType::i8: return "s8";
    default: return std::string(tegula::name(dtype));
  }
}

}  // namespace

std::string group_product_name(const MultiplyTile& product) {
  std::string name = "multiply_" + std::string(tegula::name(product.dtype)) + "_" + std::to_string(product.columns);
  if (product.registers) name += "_packed";
  if (product.left.by_terms) name += "_left";
  if (product.right.by_terms) name += "_right";
  if (product.fresh) name += "_fresh";
  return name;
}

std::string group_product(const MultiplyTile& product) {
  const bool real = is_float(product.dtype);
  const std::string name = group_product_name(product), guard = "TEGULA_" + name, count = std::to_string(product.columns / 8),
                    sum = real ? "float" : "int", constraint = std::string(product.fresh ? "\"=" : "\"+") + (real ? "f\"(" : "r\"(");
  std::string places, outs;
  for (int i = 0; i < product.columns / 2; ++i) {
    const std::string vector = std::to_string(i / 4), k = std::to_string(i % 2);
    places += (i > 0 ? ", %" : "%") + std::to_string(i);
    outs += std::string(i > 0 ? ", " : "") + constraint + (i % 4 < 2 ? "upper[" : "lower[") + vector + "][" + k + "])";
  }
  const bool packed = static_cast<bool>(product.registers);
  const int first = product.columns / 2;
  const std::string type = operand_type(product.dtype), right = "%" + std::to_string(first + (packed ? 4 : 1));
  std::string left = "%" + std::to_string(first), given = "unsigned long long left", lefts = "\"l\"(left)";
  if (packed) {
    left = "{", lefts = "";
    given = "const Wide<" + std::string(product.dtype == DType::f16 ? "Float16" : "BFloat16") + ", 2> (&left)[4]";
    for (int i = 0; i < 4; ++i) {
      left += std::string(i > 0 ? ", " : "") + "%" + std::to_string(first + i);
      lefts += std::string(i > 0 ? ", " : "") + "\"r\"(word_of(left[" + std::to_string(i) + "]))";
    }
    left += "}";
  }
  std::string scales = real ? ", 1, 1" : "";  // of floats; and halves can be transposed
  if (is_half(product.dtype))
    scales += std::string(packed ? "" : product.left.by_terms ? ", 1" : ", 0") + (product.right.by_terms ? ", 1" : ", 0");
  return "#ifndef " + guard + "\n#define " + guard + "\n__device__ inline void " + name + "(" + sum + " (&upper)[" + count + "][2], " +
         sum + " (&lower)[" + count + "][2], " + given + ", unsigned long long right) {\n  asm volatile(\"{.reg .pred p; setp.ne.b32 p, " +
         (product.fresh ? "0" : "1") + ", 0; wgmma.mma_async.sync.aligned.m64n" + std::to_string(product.columns) + "k" +
         std::to_string(32 / size_of(product.dtype)) + (real ? ".f32." : ".s32.") + type + "." + type + " {" + places + "}, " + left +
         ", " + right + ", p" + scales + "; }\"\n               : " + outs + "\n               : " + lefts +
         ", \"l\"(right));\n}\n#endif\n";
}

}  // namespace tegula::simt
