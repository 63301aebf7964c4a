// expect: take: got an index of dtype f32, expected an integer dtype
// expect: hint: cast\(index, i64\)
#include <tegula/tegula.h>

void embedding_floats() {
  tegula::nn::Embedding table{10, 4};
  tegula::Tensor y = table(tegula::zeros({2, 3}));  // here
}
