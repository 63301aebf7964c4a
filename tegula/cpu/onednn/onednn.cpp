#include "tegula/cpu/onednn/onednn.h"

#include <oneapi/dnnl/dnnl.hpp>

#include "tegula/core/signals.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {

void sgemm(const Sgemm& p) {
  const OneThread alone;
  const HeldSignals held;
  dnnl_sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.m, p.n, p.k, 1.0f, p.a, p.a_stride, p.b, p.b_stride,
             p.accumulate ? 1.0f : 0.0f, p.c, p.c_stride);
}

std::string onednn_version() {
  const dnnl::version_t& v = *dnnl::version();
  return "oneDNN " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

}  // namespace tegula::host
