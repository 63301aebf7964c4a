// expect: ^subset: got row 7 of a set of 3, expected rows from 0 to 2
#include <tegula/tegula.h>

void subset_row() {
  using namespace tegula;
  const data::ArrayDataset set(ones({3, 2}), ones({3}));
  data::subset(set, {0, 7});  // here
}
