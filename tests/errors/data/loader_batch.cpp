// expect: ^Sampler: got batch 0, expected at least 1
// expect: hint: set \.batch to the number of rows per step
#include <tegula/tegula.h>

void loader_batch() {
  using namespace tegula;
  const data::ArrayDataset set(HostArray::empty(f32, {3, 2}), HostArray::empty(i64, {3}));
  data::Loader loader(set, {.batch = 0});  // here
}
