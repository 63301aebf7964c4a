// expect: ^safetensors: got file: a header of 9151314442816847872 bytes, expected at most 100000000
// expect: hint: the file is damaged, or is no safetensors file
#include <tegula/tegula.h>

#include "tests/errors/files.h"

void safetensors_absurd_size() {
  using namespace tegula;
  load_state(errors::file_of(std::string("\0\0\0\0\0\0\0\x7F{}", 10)));
}
