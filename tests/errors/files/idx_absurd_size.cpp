// expect: ^idx: got file: 0 bytes of data, expected more than 2\^63 for shape \(4294967295, 4294967295\) of f64
// expect: hint: the file is truncated or damaged; fetch it again
#include "tegula/data/idx.h"
#include "tests/errors/files.h"

void idx_absurd_size() {
  using namespace tegula;
  data::read_idx(errors::file_of(std::string("\0\0\x0E\x02\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 12)));
}
