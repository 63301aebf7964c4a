// Every declared case of the families that make, move, reduce, select and order elements.

#include <gtest/gtest.h>

#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/int4.h"
#include "tegula/ops/rows/distance.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/ops/rows/search.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/selecting.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/op_check.h"

namespace tegula {

INSTANTIATE_DECLARED_CASES(Creation, creation_cases());
INSTANTIATE_DECLARED_CASES(Shape, shape_cases());
INSTANTIATE_DECLARED_CASES(Join, join_cases());
INSTANTIATE_DECLARED_CASES(Reduce, reduce_cases());
INSTANTIATE_DECLARED_CASES(Scan, scan_cases());
INSTANTIATE_DECLARED_CASES(Index, index_cases());
INSTANTIATE_DECLARED_CASES(Selecting, selecting_cases());
INSTANTIATE_DECLARED_CASES(Int4, int4_cases());
INSTANTIATE_DECLARED_CASES(DynamicSlice, dynamic_slice_cases());
INSTANTIATE_DECLARED_CASES(Sort, sort_cases());
INSTANTIATE_DECLARED_CASES(Search, search_cases());
INSTANTIATE_DECLARED_CASES(Distance, distance_cases());

}  // namespace tegula
