// expect: ^Loader: got 3 rows and batches of 4, expected at least one full batch, as the rest is dropped
// expect: hint: take smaller batches, or \.last = Last::Keep
#include <tegula/tegula.h>

void loader_no_batch() {
  using namespace tegula;
  const data::ArrayDataset set(HostArray::empty(f32, {3, 2}), HostArray::empty(i64, {3}));
  data::Loader loader(set, {.batch = 4, .shuffle = true});  // here
}
