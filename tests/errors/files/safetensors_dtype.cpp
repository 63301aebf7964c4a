// expect: ^safetensors: got file: dtype 'Q5' of tensor 'a', expected F64 F32 F16 BF16 I64 I32 I16 I8 U8 or BOOL
// expect: hint: convert the tensor to one of these before saving it
#include <tegula/tegula.h>

#include "tests/errors/files.h"

void safetensors_dtype() {
  using namespace tegula;
  load_state(errors::safetensors_of(R"({"a":{"dtype":"Q5","shape":[1],"data_offsets":[0,4]}})"));
}
