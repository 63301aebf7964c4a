// expect: ^LSTM: got a length of 6, expected 0 to the 5 steps
#include <tegula/tegula.h>

void lstm_length() {
  using namespace tegula;
  nn::LSTM lstm(4, 8, {.bidirectional = true});
  const nn::Recurrent read = lstm(zeros({5, 3, 4}), {.lengths = tensor<std::int64_t>({5, 2, 6})});  // here
  read.h.to_host();
}
