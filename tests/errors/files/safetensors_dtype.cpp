// expect: ^safetensors: got file: dtype 'Q5' of tensor 'a', expected F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 F8_E4M3 F8_E5M2 or BOOL
// expect: hint: convert the tensor to one of these before saving it
#include <tegula/tegula.h>

#include "tests/errors/files.h"

void safetensors_dtype() {
  using namespace tegula;
  io::read_safetensors(errors::safetensors_of(R"({"a":{"dtype":"Q5","shape":[1],"data_offsets":[0,4]}})"), "a");
}
