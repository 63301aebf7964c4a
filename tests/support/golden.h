#pragma once
// Texts of kernels that are kept in tests/golden/<name>.cu. TEGULA_UPDATE_GOLDEN=1 writes them anew.

#include <gtest/gtest.h>

#include <string>

#include "tegula/simt/codegen.h"

namespace tegula::test {

/// The source, and below it what the launch needs to know.
std::string with_figures(const gpu::Generated& code);

/// True if the text is the one in tests/golden/<name>.cu; hashes in names do not count. With clang, which evaluates the operands of a formula in
/// another order, every text is.
::testing::AssertionResult is_golden(const std::string& name, std::string text);

}  // namespace tegula::test
