// expect: ^safetensors: got file: a header of \d+ bytes, expected at most 100000000
// expect: hint: the file is damaged, or is no safetensors file
#include <tegula/tegula.h>

#include "tests/errors/files.h"

void safetensors_magic() {
  using namespace tegula;
  load_state(errors::file_of("this is no model at all"));
}
