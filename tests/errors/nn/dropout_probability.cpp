// expect: ^Dropout: got p = 1\.5, expected a probability in \[0, 1\]
#include <tegula/tegula.h>

void dropout_probability() {
  tegula::nn::Dropout drop{1.5};  // here
}
