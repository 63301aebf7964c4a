// expect: ^LSTM: got a state h of shape \(1, 5, 8\), expected \(2, 5, 8\)
#include <tegula/tegula.h>

void lstm_state() {
  using namespace tegula;
  nn::LSTM lstm(4, 8, {.bidirectional = true});
  lstm(zeros({7, 5, 4}), {.h = zeros({1, 5, 8})});  // here
}
