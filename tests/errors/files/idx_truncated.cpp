// expect: ^idx: got file: 3 bytes of data, expected 5 for shape \(5,\) of u8
// expect: hint: the file is truncated or damaged; fetch it again
#include "tegula/data/idx.h"
#include "tests/errors/files.h"

void idx_truncated() {
  using namespace tegula;
  data::read_idx(
      errors::file_of(std::string("\0\0\x08\x01\0\0\0\x05"
                                  "abc",
                                  11)));
}
