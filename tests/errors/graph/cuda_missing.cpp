// expect: ^cuda: got (no NVIDIA driver on this machine|no libtegula_cuda.so|device 1000, expected )
#include <tegula/tegula.h>

void cuda_missing() {
  tegula::set_default_device(tegula::cuda(1000));  // here
}
