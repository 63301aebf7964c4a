// expect: ^GRU: got cell_clip 2, expected 0, or in an LSTM a positive number
#include <tegula/tegula.h>

void gru_cell_clip() {
  using namespace tegula;
  nn::GRU gru(4, 8, {.cell_clip = 2});  // here
}
