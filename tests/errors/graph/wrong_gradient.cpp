// expect: ^check_gradients: got gradient .+ of input 0 at \(.,\), expected .+ the central difference there
// expect: hint: look at the derivative
#include "tegula/graph/structural.h"
#include "tegula/ops/check_gradients.h"
#include "tegula/ops/elementwise/arithmetic.h"

void wrong_gradient() {
  const auto f = [](const std::vector<tegula::Tensor>& x) { return x[0] * tegula::graph::stop_gradient(x[0]); };
  tegula::check_gradients(f, {tegula::tensor({1.0, 2.0})});  // here
}
