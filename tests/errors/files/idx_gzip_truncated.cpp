// expect: ^idx: got file: gzip data that stop after 11 bytes, expected the rest of the gzip data
// expect: hint: the file is truncated; fetch it again
#include "tegula/data/idx.h"
#include "tests/errors/files.h"

void idx_gzip_truncated() {
  using namespace tegula;
  data::read_idx(
      errors::file_of(std::string("\x1F\x8B\x08\0\0\0\0\0\0\x03"
                                  "c",
                                  11)));
}
