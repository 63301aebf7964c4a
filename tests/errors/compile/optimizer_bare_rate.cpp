// expect: tegula: an optimiser's options are given by name: optim::Adam\(parameters\(net\), {\.lr = 0\.01}\)
// errors: 1
#include <tegula/tegula.h>
using namespace tegula;

int main() {
  nn::Linear net{2, 1};
  optim::Adam adam(parameters(net), 0.01);  // here
}
