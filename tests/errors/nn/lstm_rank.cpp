// expect: LSTM: got .*\(2, 3, 4, 5\)
#include <tegula/tegula.h>

void lstm_rank() {
  tegula::nn::LSTM lstm{5, 8};
  lstm(tegula::zeros({2, 3, 4, 5}));  // here
}
