// expect: ^idx: got nowhere-ubyte: No such file or directory, expected a readable file
// expect: hint: check the path; it is relative to the working directory
#include "tegula/data/idx.h"

void idx_missing() {
  using namespace tegula;
  data::read_idx("nowhere-ubyte");
}
