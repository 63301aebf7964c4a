// expect: ^accuracy: got labels \(5,\) i64, expected an integer for each of the 4 rows of scores
#include <tegula/tegula.h>

void accuracy_labels() {
  using namespace tegula;
  metrics::accuracy(zeros({4, 3}), zeros({5}, i64));  // here
}
