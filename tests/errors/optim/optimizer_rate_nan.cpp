// expect: ^Adam: got lr = nan, expected a number of at least 0
#include <tegula/tegula.h>

#include <cmath>

void optimizer_rate_nan() {
  using namespace tegula;
  nn::Linear fc{2, 3};
  optim::Adam adam(parameters(fc), {.lr = NAN});  // here
}
