// expect: ^load: got nowhere\.pt: No such file or directory, expected a readable file
// expect: hint: check the path
#include <tegula/tegula.h>

void load_missing_file() {
  tegula::nn::Linear head{3, 2};
  tegula::load(head, "nowhere.pt");
}
