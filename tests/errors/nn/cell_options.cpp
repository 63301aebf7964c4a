// expect: ^LSTMCell: got layers, directions, a projection or dropout, expected options of one step: bias, nonlinearity, cell_clip, dtype
#include <tegula/tegula.h>

void cell_options() {
  using namespace tegula;
  nn::LSTMCell cell(4, 8, {.layers = 2});  // here
}
