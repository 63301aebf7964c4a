// expect: ^jpeg: got file: .+, expected a JPEG picture
// expect: hint: the file is truncated, damaged or of another kind
#include <tegula/tegula.h>

#include "tests/errors/files.h"

void jpeg_truncated() {
  tegula::io::read_jpeg(errors::file_of(std::string("\xFF\xD8\xFF\xE0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xFF\xDB\0\x43\0", 25)));
}
