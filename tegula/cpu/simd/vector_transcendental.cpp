// exp, log, tanh and their like in f32.
#include "tegula/cpu/simd/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/simd/vector_transcendental.cpp"
#include "hwy/foreach_target.h"
#include "tegula/cpu/simd/vector_math-inl.h"

#include "tegula/cpu/simd/vector.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {

const MapTable* find_transcendental_here(int word, DType dtype) {
  using tile::Word;
  if (dtype != f32 || word > 255) return nullptr;
  switch (static_cast<Word>(word)) {
    case Word::Exp: return &Map<Exp, 2, float, float, float>::table;
    case Word::Exp2: return &Map<Exp2, 2, float, float, float>::table;
    case Word::Expm1: return &Map<Expm1, 2, float, float, float>::table;
    case Word::Log: return &Map<Logarithm<false>, 2, float, float, float>::table;
    case Word::Log2: return &Map<Logarithm<true>, 2, float, float, float>::table;
    case Word::Log1p: return &Map<Log1p, 2, float, float, float>::table;
    case Word::Tanh: return &Map<Tanh, 2, float, float, float>::table;
    case Word::Erf: return &Map<Erf, 2, float, float, float>::table;
    case Word::Sigmoid: return &Map<Sigmoid, 2, float, float, float>::table;
    case Word::Sin: return &Map<Sine<0>, 1, float, float, float>::table;
    case Word::Cos: return &Map<Sine<1>, 1, float, float, float>::table;
    case Word::Pow: return &Map<Pow, 1, float, float, float, float>::table;
    default: return nullptr;
  }
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
HWY_EXPORT(find_transcendental_here);
const MapTable* find_transcendental(int word, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_transcendental_here)(word, dtype); }
}  // namespace tegula::host
#endif
