// expect: ^Variable: got an empty Variable, expected one with a value
// expect: hint: it was default-constructed or moved from
#include <tegula/tegula.h>

#include <utility>

void moved_layer() {
  using namespace tegula;
  nn::Linear first{2, 3};
  const nn::Linear second = std::move(first);
  Tensor y = first(ones({1, 2}));  // here  NOLINT
}
