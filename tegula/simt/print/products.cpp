// The functions of wgmma, of which a kernel has those that it calls.

#include "tegula/simt/print/print.h"

namespace tegula::simt {

namespace {

/// As PTX names operands of that dtype.
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
  const std::string type = operand_type(product.dtype), left = "%" + std::to_string(product.columns / 2),
                    right = "%" + std::to_string(product.columns / 2 + 1);
  std::string scales = real ? ", 1, 1" : "";  // of floats; and halves can be transposed
  if (is_half(product.dtype)) scales += std::string(product.left.by_terms ? ", 1" : ", 0") + (product.right.by_terms ? ", 1" : ", 0");
  return "#ifndef " + guard + "\n#define " + guard + "\n__device__ inline void " + name + "(" + sum + " (&upper)[" + count + "][2], " +
         sum + " (&lower)[" + count +
         "][2], unsigned long long left, unsigned long long right) {\n  asm volatile(\"{.reg .pred p; setp.ne.b32 p, " +
         (product.fresh ? "0" : "1") + ", 0; wgmma.mma_async.sync.aligned.m64n" + std::to_string(product.columns) + "k" +
         std::to_string(32 / size_of(product.dtype)) + (real ? ".f32." : ".s32.") + type + "." + type + " {" + places + "}, " + left +
         ", " + right + ", p" + scales + "; }\"\n               : " + outs + "\n               : \"l\"(left), \"l\"(right));\n}\n#endif\n";
}

}  // namespace tegula::simt
