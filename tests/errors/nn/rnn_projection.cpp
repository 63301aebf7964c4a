// expect: ^RNN: got proj_size 3, expected 0, or in an LSTM a size below hidden_size
#include <tegula/tegula.h>

void rnn_projection() {
  using namespace tegula;
  nn::RNN rnn(4, 8, {.proj_size = 3});  // here
}
