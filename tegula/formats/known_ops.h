#pragma once
// The ops that files may name.

#include "tegula/graph/op_table.h"

namespace tegula {

/// Those of the library, and what a program has added to them: add_formula<formula::Gaussian>(known_ops()) (docs/add_an_op.md), before it loads graphs,
/// on one thread.
OpTable& known_ops();

}  // namespace tegula
