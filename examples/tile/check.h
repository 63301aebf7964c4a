#pragma once
// Shared by the examples: a kernel is run as it is, and by .check(), instance by instance with every access watched; both must give the expected result.

#include <tegula/tile.h>

#include <tegula/bench.h>

#include <cstdio>
#include <cstdlib>
#include <string>

/// run(kernel) launches it.
template <class K, class F>
void expect(const std::string& what, const K& kernel, F&& run, const tegula::Tensor& wanted, double tolerance = 1e-4) {
  try {
    tegula::assert_close(run(kernel), wanted, {.rtol = tolerance, .atol = tolerance, .message = what});
    tegula::assert_close(run(kernel.check()), wanted, {.rtol = tolerance, .atol = tolerance, .message = what + ", instance by instance"});
    std::printf("%s: right\n", what.c_str());
  } catch (const tegula::Error& error) {
    std::printf("%s\n", error.what());
    std::exit(1);
  }
}
/// For values that were computed already: gradients.
inline void expect_values(const std::string& what, const tegula::Tensor& got, const tegula::Tensor& wanted, double tolerance = 1e-4) {
  try {
    tegula::assert_close(got, wanted, {.rtol = tolerance, .atol = tolerance, .message = what});
    std::printf("%s: right\n", what.c_str());
  } catch (const tegula::Error& error) {
    std::printf("%s\n", error.what());
    std::exit(1);
  }
}
