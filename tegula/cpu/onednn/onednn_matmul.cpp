#include "tegula/cpu/onednn/onednn.h"
#include "tegula/cpu/onednn/onednn_primitive.h"

namespace tegula::host {
namespace {

using dnnl::memory;

dnnl::primitive_desc_base describe(const memory::desc& a, const memory::desc& b, const memory::desc& c) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(onednn_engine(), a, b, c, onednn_attributes());
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), onednn_attributes(), onednn_engine());
#endif
}

}  // namespace

struct Bf16Product::Primitive : OneDnnPrimitive {
  using OneDnnPrimitive::OneDnnPrimitive;
};

Bf16Product::Bf16Product(std::unique_ptr<Primitive> primitive) : primitive_(std::move(primitive)) {}
Bf16Product::~Bf16Product() = default;

std::unique_ptr<Bf16Product> Bf16Product::make(std::int64_t m, std::int64_t n, std::int64_t k, const OneDnnMatrix& a,
                                               const OneDnnMatrix& b) {
  try {
    auto primitive = std::make_unique<Primitive>(m, [&](std::int64_t rows) {
      const memory::desc da({rows, k}, memory::data_type::bf16, {a.row, a.column}), db({k, n}, memory::data_type::bf16, {b.row, b.column});
      const memory::desc dc({rows, n}, memory::data_type::f32, {n, 1});
      return OneDnnPiece{{{DNNL_ARG_SRC, 0, false, 2 * a.row, da}, {DNNL_ARG_WEIGHTS, 1, false, 0, db}, {DNNL_ARG_DST, 2, true, 4 * n, dc}},
                         describe(da, db, dc)};
    });
    if (primitive->has("ref")) return nullptr;
    return std::unique_ptr<Bf16Product>(new Bf16Product(std::move(primitive)));
  } catch (const dnnl::error&) {
    return nullptr;  // the processor has no bf16 arithmetic
  }
}

std::size_t Bf16Product::scratch_bytes() const { return primitive_->scratch_bytes(); }
std::string Bf16Product::implementation() const { return primitive_->implementation(); }
void Bf16Product::run(const void* a, const void* b, float* c, void* scratch, int threads) const {
  void* const buffers[] = {const_cast<void*>(a), const_cast<void*>(b), c};
  primitive_->run(buffers, scratch, threads);
}

}  // namespace tegula::host
