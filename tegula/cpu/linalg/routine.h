#pragma once
// Routines of linear algebra on the CPU (runtime/matrix_routine.h).

#include <memory>
#include <string>

#include "tegula/runtime/device.h"

namespace tegula::host {

/// Throws Error for dtypes other than f32 and f64, and extents that do not fit the routine.
std::unique_ptr<runtime::Call> make_matrix_routine(const runtime::MatrixRoutine& description);

}  // namespace tegula::host
