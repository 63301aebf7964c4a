// expect: Sampler: got batch -4, expected at least 1
// expect: hint: set \.batch to the number of rows per step
#include <tegula/tegula.h>
using namespace tegula;

void loader_negative_batch() {
  data::Loader loader(data::ArrayDataset(zeros({8, 3}).to_array(), zeros({8}).to_array()), {.batch = -4});  // here
}
