// expect: ^max_pool2d: got shape \(1, 1, 2, 2\) and window \(3, 3\), expected a window that fits
#include "tegula/ops/creation.h"
#include "tegula/ops/products/pooling.h"

void pooling_window() {
  tegula::max_pool2d(tegula::ones({1, 1, 2, 2}), 3);  // here
}
