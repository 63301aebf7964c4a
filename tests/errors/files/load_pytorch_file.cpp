// expect: ^pytorch: got file: .*, expected a zip archive
// expect: hint: the file is damaged or of another kind
#include <tegula/tegula.h>

#include "tests/errors/files.h"

void load_pytorch_file() {
  using namespace tegula;
  nn::Linear net{2, 2};
  std::string zip("PK\3\4", 4);
  zip += std::string(22, '\0') + std::string("\x10\0\0\0", 4) + "archive/data.pkl";
  load(net, errors::file_of(zip));
}
