// expect: ^from_array: got an array without a buffer
#include <tegula/tegula.h>

void array_without_buffer() {
  const tegula::Tensor x = tegula::from_array(tegula::HostArray{});  // here
}
