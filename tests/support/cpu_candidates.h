#pragma once
// The candidates of pretended devices for calls that the CPU runs for them.

#include <vector>

#include "tegula/runtime/device.h"

namespace tegula::test {

/// The CPU's candidates, without the dtypes and the orders of operands that only a CPU would rather have; attention is plain ops.
std::vector<runtime::Candidate> cpu_candidates(const runtime::CallDescription& d);

}  // namespace tegula::test
