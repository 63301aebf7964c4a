// expect: ^png: got file: Not a PNG file, expected a PNG picture
// expect: hint: the file is damaged or of another kind
#include "tegula/io/png.h"
#include "tests/errors/files.h"

void png_magic() {
  using namespace tegula;
  io::read_png(errors::file_of("no picture"));
}
