// expect: ^grad: got an output computed from add at .+, whose own history was given up, expected all that lies between
// expect: hint: evaluated tensors keep 10 nodes and \d+ MiB a thread \(set_history_budget\): take the gradient earlier
#include <tegula/tegula.h>

void grad_given_up() {
  using namespace tegula;
  struct Budget {
    Budget() { set_history_budget({.nodes = 10}); }
    ~Budget() { set_history_budget({}); }
  } budget;
  const Tensor x = ones({3});
  Tensor h = x;
  for (int i = 0; i < 20; ++i) {
    h = h + x;
    h.to_host();
  }
  Tensor dx = grad(sum(h), x);  // here
}
