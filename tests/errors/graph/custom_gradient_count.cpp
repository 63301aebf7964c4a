// expect: ^half: got 0 gradients from its vjp, expected 1, one for each input
// expect: hint: an empty Tensor means none flows
#include <tegula/tegula.h>

void custom_gradient_count() {
  using namespace tegula;
  const Tensor x = ones({3});
  const Tensor y = custom_function(
      "half", [](const auto& in) { return in[0] * 0.5; }, [](const auto&, const Tensor&, const Tensor&) { return std::vector<Tensor>(); },
      {x});
  Tensor dx = grad(sum(y), x);
}
