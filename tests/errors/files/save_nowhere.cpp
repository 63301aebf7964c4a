// expect: ^safetensors: got no/such/folder/net\.safetensors: No such file or directory, expected a folder that can be written
// expect: hint: create the folder no/such/folder first, or choose another path
#include <tegula/tegula.h>

void save_nowhere() {
  using namespace tegula;
  nn::Linear fc{2, 3};
  save(fc, "no/such/folder/net.safetensors");
}
