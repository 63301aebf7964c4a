// expect: ^device: got "gpu", expected cpu, cuda, or cuda:1
#include <tegula/tegula.h>

void device_name() {
  tegula::set_default_device(tegula::device("gpu"));  // here
}
