// expect: ^idx: got file: a magic number that does not begin with two zero bytes, expected 00 00 dtype rank
// expect: hint: the file is damaged, or is no idx file \(MNIST's names end in -ubyte or -ubyte\.gz\)
#include "tegula/data/idx.h"
#include "tests/errors/files.h"

void idx_magic() {
  using namespace tegula;
  data::read_idx(errors::file_of("PNG, or anything else"));
}
