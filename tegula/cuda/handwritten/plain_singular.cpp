#include "tegula/cuda/handwritten/plain_singular.h"

#include "tegula/cuda/handwritten/plain_singular.cuh.h"
#include "tegula/cuda/handwritten/plain_source.h"

namespace tegula::gpu {
namespace {

PlainKernel singular_kernel(const runtime::MatrixRoutine& d, const char* name, std::int64_t blocks) {
  PlainSource source(d.dtype, {});
  source.define("ROWS", d.rows);
  source.define("COLUMNS", d.columns);
  source.add(kSingular);
  return {name, source.text(), blocks, 128};
}

}  // namespace

PlainKernel singular_values_kernel(const runtime::MatrixRoutine& d) { return singular_kernel(d, "singular_values", d.columns); }

PlainKernel singular_order_kernel(const runtime::MatrixRoutine& d) {
  return singular_kernel(d, "singular_order", d.full ? d.rows : d.columns);
}

}  // namespace tegula::gpu
