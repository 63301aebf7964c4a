#pragma once
// Kernels as CUDA C++. Decides nothing: what is written follows from the kernel alone.
//
// How a kernel gets its arguments is said in codegen.h. The text stands behind prelude(), which has the functions that it calls.

#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// The kernel's text, with `name` for the function.
std::string print(const Kernel& kernel, const std::string& name);
/// Statements with so many levels of indentation.
std::string print(const Block& block, int depth);

/// Appends the expression.
void put(std::string& out, const Expression& expression);

}  // namespace tegula::simt
