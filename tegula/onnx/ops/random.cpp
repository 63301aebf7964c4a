// Random numbers: those of Tegula's default generator; a seed in the file is not ONNX runtime's stream, and is not used.

#include "tegula/ops/random.h"

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"

namespace tegula::onnx {
namespace {

DType dtype_attribute(const Call& call, DType otherwise) {
  return call.has("dtype") ? dtype_of(static_cast<Type>(call.integer("dtype", 1))) : otherwise;
}

Tensor uniform_of(const Call& call, const Shape& shape, DType dtype) {
  return uniform(shape, call.number("low", 0), call.number("high", 1), {.dtype = dtype}, call.where());
}

Tensor normal_of(const Call& call, const Shape& shape, DType dtype) {
  return normal(shape, call.number("mean", 0), call.number("scale", 1), {.dtype = dtype}, call.where());
}

/// Classes (N, sample_size) from log probabilities (N, C).
Results drawn(const Call& call) {
  const Tensor picked = multinomial(exp(cast(call[0], f32)), call.integer("sample_size", 1), Replacement::Yes);
  return cast(picked, dtype_attribute(call, i32));
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"RandomUniform", [](Call& c) -> Results { return uniform_of(c, shape_of(c, c.integers("shape")), dtype_attribute(c, f32)); }, "dtype high low seed shape", 0, 0, true},
    {"RandomNormal", [](Call& c) -> Results { return normal_of(c, shape_of(c, c.integers("shape")), dtype_attribute(c, f32)); }, "dtype mean scale seed shape", 0, 0, true},
    {"RandomUniformLike", [](Call& c) -> Results { return uniform_of(c, c[0].shape(), dtype_attribute(c, c[0].dtype())); }, "dtype high low seed", 0, 0, true},
    {"RandomNormalLike", [](Call& c) -> Results { return normal_of(c, c[0].shape(), dtype_attribute(c, c[0].dtype())); }, "dtype mean scale seed", 0, 0, true},
    {"Bernoulli", [](Call& c) -> Results { return cast(bernoulli(c[0]), dtype_attribute(c, c[0].dtype())); }, "dtype seed", 0, 0, true},
    {"Multinomial", [](Call& c) -> Results { return drawn(c); }, "dtype sample_size seed", 0, 0, true},
};
// clang-format on

}  // namespace

Operators random_operators() { return kOperators; }

}  // namespace tegula::onnx
