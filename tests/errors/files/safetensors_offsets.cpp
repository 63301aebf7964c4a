// expect: ^safetensors: got file: data_offsets \(0, 80\) of tensor 'a', expected 4 bytes for shape \(1\) of F32
// expect: hint: the file is damaged, or is no safetensors file
#include <tegula/tegula.h>

#include "tests/errors/files.h"

void safetensors_offsets() {
  using namespace tegula;
  load_state(errors::safetensors_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,80]}})"));
}
