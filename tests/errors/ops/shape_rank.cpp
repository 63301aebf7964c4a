// expect: ^shape: got 9 dimensions, expected at most 8
// expect: hint: merge dimensions
#include "tegula/core/shape.h"

void shape_rank() { tegula::Shape shape{1, 2, 3, 4, 5, 6, 7, 8, 9}; }
