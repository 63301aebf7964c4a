// expect: ^Variable: got an empty Variable, expected one with a value
// expect: hint: it was default-constructed or moved from
#include <tegula/tegula.h>

#include <utility>

void moved_variable() {
  using namespace tegula;
  Variable v = zeros({2});
  const Variable w = std::move(v);
  Tensor y = relu(v);  // here  NOLINT
}
