// expect: ^png: got file: the file ends too early, expected a PNG picture
// expect: hint: the file is truncated; fetch it again
#include "tegula/io/png.h"
#include "tests/errors/files.h"

void png_truncated() {
  using namespace tegula;
  io::read_png(errors::file_of(std::string("\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR", 16)));
}
