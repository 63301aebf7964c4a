// expect: ^models::load: got file: no entry tegula\.model in its metadata, expected a file written by tegula train or models::save
// expect: hint: build the network yourself and call load\(net, path\)
#include <tegula/tegula.h>

#include "tegula/models/registry.h"
#include "tests/errors/files.h"

void model_of_another_program() {
  using namespace tegula;
  models::load(errors::safetensors_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"));
}
