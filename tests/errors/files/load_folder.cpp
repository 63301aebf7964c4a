// expect: ^load: got folder: a folder, expected a regular file
// expect: hint: name the file itself
#include <tegula/tegula.h>

#include <filesystem>

void load_folder() {
  tegula::nn::Linear fc{2, 3};
  std::filesystem::create_directory("folder");
  tegula::load(fc, "folder");
}
