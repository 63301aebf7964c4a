#pragma once
// The buffers of a routine of linear algebra.

#include <cstddef>
#include <vector>

#include "tegula/runtime/matrix_routine.h"

namespace tegula::runtime {

struct MatrixBuffers {
  std::size_t inputs = 1;  // how many come first
  std::vector<std::size_t> bytes = {};  // of one matrix, for each buffer
};

MatrixBuffers buffers_of(const MatrixRoutine& d);
/// "LU", "Cholesky", …
const char* name(Routine routine);

}  // namespace tegula::runtime
