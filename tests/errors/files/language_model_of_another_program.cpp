// expect: ^models::load: got file: no entry tegula\.model, expected one
// expect: hint: was the file written by tegula train or models::save\?
#include <tegula/models.h>
#include <tegula/tegula.h>
#include <tegula/text.h>

#include "tests/errors/files.h"

void language_model_of_another_program() {
  using namespace tegula;
  models::load_language_model(errors::safetensors_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"));
}
