// expect: ^Loader: got sample 1 with f32\(3, 2, 4\), i64\(\), beside sample 0 with f32\(3, 2, 2\), i64\(\)
// expect: hint: resize, crop or pad .*; ImageFolder resizes to its \.size
#include <tegula/tegula.h>

#include <filesystem>

void image_folder_sizes() {
  using namespace tegula;
  std::filesystem::create_directories("pictures/cats");
  io::write_png("pictures/cats/a.png", zeros({2, 2, 3}, u8).to_array());
  io::write_png("pictures/cats/b.png", zeros({2, 4, 3}, u8).to_array());
  data::Loader loader(data::ImageFolder("pictures"), {.batch = 2});
  loader.next();
}
