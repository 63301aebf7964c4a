// expect: cuda_file: got missing.cu, which cannot be read, expected a file of CUDA C\+\+
#include <tegula/tile.h>
using namespace tegula;

void cuda_kernel_no_file() {
  cuda_file("missing.cu");  // here
}
