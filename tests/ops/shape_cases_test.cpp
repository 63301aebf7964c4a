// Every declared case of the families that make, move, reduce, select and order elements.

#include <gtest/gtest.h>

#include "tegula/ops/creation.h"
#include "tegula/ops/index.h"
#include "tegula/ops/join.h"
#include "tegula/ops/reduce.h"
#include "tegula/ops/scan.h"
#include "tegula/ops/shape.h"
#include "tegula/ops/sort.h"
#include "tests/support/op_check.h"

namespace tegula {

TEST(ShapeCases, Creation) { check(creation_cases()); }
TEST(ShapeCases, Shape) { check(shape_cases()); }
TEST(ShapeCases, Join) { check(join_cases()); }
TEST(ReduceCases, Reduce) { check(reduce_cases()); }
TEST(ReduceCases, Scan) { check(scan_cases()); }
TEST(IndexCases, Index) { check(index_cases()); }
TEST(IndexCases, Sort) { check(sort_cases()); }

}  // namespace tegula
