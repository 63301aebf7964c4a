// expect: ^dropout: got p = 1\.5.*, expected a probability
#include "tegula/ops/creation.h"
#include "tegula/ops/dropout.h"

void dropout_probability() {
  tegula::dropout(tegula::ones({4}), 1.5);  // here
}
