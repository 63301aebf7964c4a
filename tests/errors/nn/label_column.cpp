// expect: ^cross_entropy: got scores f32\(4, 10\) and labels i64\(4, 1\), expected labels of shape \(4,\)
// expect: hint: squeeze\(labels, -1\)
#include <tegula/tegula.h>

void label_column() {
  using namespace tegula;
  cross_entropy(zeros({4, 10}), zeros({4, 1}, i64));  // here
}
