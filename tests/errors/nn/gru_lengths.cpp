// expect: ^GRU: got lengths of shape \(7,\) and dtype f32, expected integers of shape \(5,\)
#include <tegula/tegula.h>

void gru_lengths() {
  using namespace tegula;
  nn::GRU gru(4, 8);
  gru(zeros({7, 5, 4}), {.lengths = zeros({7})});  // here
}
