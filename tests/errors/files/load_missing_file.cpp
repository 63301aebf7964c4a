// expect: nowhere.safetensors
// expect: No such file|missing|not found
#include <tegula/tegula.h>

void load_missing_file() {
  tegula::nn::Linear head{3, 2};
  tegula::load(head, "nowhere.safetensors");
}
