#pragma once
// The ops that files may name.

#include "tegula/graph/op_table.h"

namespace tegula {

/// The library's ops, and the ops that a program has added: add_formula<formula::Gaussian>(known_ops()) (docs/add_an_op.md), before it loads graphs,
/// on one thread.
OpTable& known_ops();

}  // namespace tegula
