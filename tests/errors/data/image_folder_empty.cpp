// expect: ^ImageFolder: got empty without pictures, expected folders of \.png, \.jpg or \.jpeg files, one for each class
#include <tegula/tegula.h>

#include <filesystem>

void image_folder_empty() {
  std::filesystem::create_directories("empty/cats");
  tegula::data::ImageFolder images("empty");
}
