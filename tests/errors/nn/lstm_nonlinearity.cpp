// expect: ^LSTM: got nonlinearity Relu, expected none: only an RNN has a choice
#include <tegula/tegula.h>

void lstm_nonlinearity() {
  using namespace tegula;
  nn::LSTM lstm(4, 8, {.nonlinearity = nn::Nonlinearity::Relu});  // here
}
