// expect: ^LSTM: got an input of shape \(2, 3, 4, 5\), expected \(T, N, features\), or \(T, features\)
#include <tegula/tegula.h>

void lstm_rank() {
  tegula::nn::LSTM lstm{5, 8};
  lstm(tegula::zeros({2, 3, 4, 5}));  // here
}
