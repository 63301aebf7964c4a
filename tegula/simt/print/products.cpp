// The functions of wgmma, of which a kernel has those that it calls.

#include "tegula/simt/print/print.h"

namespace tegula::simt {

std::string group_product_name(const MultiplyTile& product) {
  std::string name = "multiply_" + std::string(tegula::name(product.dtype)) + "_" + std::to_string(product.columns);
  if (product.left.by_terms) name += "_left";
  if (product.right.by_terms) name += "_right";
  return name;
}

std::string group_product(const MultiplyTile& product) {
  const std::string name = group_product_name(product), guard = "TEGULA_" + name, count = std::to_string(product.columns / 8);
  std::string places, outs;
  for (int i = 0; i < product.columns / 2; ++i) {
    const std::string vector = std::to_string(i / 4), k = std::to_string(i % 2);
    places += (i > 0 ? ", %" : "%") + std::to_string(i);
    outs += std::string(i > 0 ? ", " : "") + "\"+f\"(" + (i % 4 < 2 ? "upper[" : "lower[") + vector + "][" + k + "])";
  }
  const std::string type = product.dtype == DType::f16 ? "f16" : "bf16", left = "%" + std::to_string(product.columns / 2),
                    right = "%" + std::to_string(product.columns / 2 + 1);
  return "#ifndef " + guard + "\n#define " + guard + "\n__device__ inline void " + name + "(float (&upper)[" + count +
         "][2], float (&lower)[" + count +
         "][2], unsigned long long left, unsigned long long right) {\n  asm volatile(\"{.reg .pred p; setp.ne.b32 p, 1, 0; "
         "wgmma.mma_async.sync.aligned.m64n" +
         std::to_string(product.columns) + "k16.f32." + type + "." + type + " {" + places + "}, " + left + ", " + right + ", p, 1, 1, " +
         (product.left.by_terms ? "1" : "0") + ", " + (product.right.by_terms ? "1" : "0") + "; }\"\n               : " + outs +
         "\n               : \"l\"(left), \"l\"(right));\n}\n#endif\n";
}

}  // namespace tegula::simt
