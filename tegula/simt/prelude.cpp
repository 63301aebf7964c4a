// What generated kernels stand on: stored types, wide accesses, exchange between threads, tensor cores, and words that CUDA has no function for.

#include "tegula/simt/codegen.h"
#include "tegula/simt/prelude.cuh.h"
#include "tegula/simt/prelude_across.cuh.h"
#include "tegula/simt/prelude_products.cuh.h"
#include "tegula/simt/prelude_words.cuh.h"

namespace tegula::gpu {

std::string prelude() {
  std::string text = "// Tegula's prelude: see tegula/simt/prelude.cpp\n";
  text += kTypes;
  text += kWords;
  text += kAcross;
  text += kProducts;
  return text;
}

}  // namespace tegula::gpu
