// expect: ^safetensors: got file: 2 bytes, expected at least 8 bytes \(the length of the header\)
// expect: hint: the file is damaged, or is no safetensors file
#include <tegula/tegula.h>

#include "tests/errors/files.h"

void checkpoint_damaged() {
  using namespace tegula;
  load_checkpoint(errors::file_of("ab"), {});
}
