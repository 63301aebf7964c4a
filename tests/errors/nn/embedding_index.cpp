// expect: ^Embedding: got index 4 for axis 0 of size 4, where it must lie in \[-4, 3\]
// expect: hint: check the data that was passed in
#include <tegula/tegula.h>

void embedding_index() {
  using namespace tegula;
  nn::Embedding words{4, 2};
  const Tensor y = words(tensor({1, 4}));  // here
  y.to_host();
}
