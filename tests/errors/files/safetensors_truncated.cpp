// expect: ^safetensors: got file: a header of 64 bytes in a file of 12, expected a header inside the file
// expect: hint: the file is truncated, or is no safetensors file
#include <tegula/tegula.h>

#include "tests/errors/files.h"

void safetensors_truncated() {
  using namespace tegula;
  load_state(errors::file_of(std::string("\x40\0\0\0\0\0\0\0{\"a\"", 12)));
}
