// expect: ^ArrayDataset: got inputs \(3, 2\) and targets \(4,\), expected a first axis of the same length in both
// expect: hint: give every input row one target row
#include <tegula/tegula.h>

void dataset_rows() {
  using namespace tegula;
  const data::ArrayDataset set(HostArray::empty(f32, {3, 2}), HostArray::empty(i64, {4}));  // here
}
