#pragma once
// Runs a tile program on the executor and on the reference interpreter and compares every byte of memory they were given.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "tegula/cpu/executor/executor.h"
#include "tegula/runtime/interpreter.h"
#include "tegula/tile/builder.h"

namespace tegula::host {

/// The memory behind a pointer parameter, or a scalar.
struct TestArgument {
  DType dtype = DType::f32;
  std::vector<std::byte> bytes;  // empty for scalars
  double real = 0;
  std::int64_t integer = 0;
  int same_as = -1;              // the memory of another argument

  static TestArgument scalar(double value) { return {DType::f64, {}, value, static_cast<std::int64_t>(value)}; }
  static TestArgument empty(DType dtype, std::size_t count) {
    return {dtype, std::vector<std::byte>(count * size_of(dtype), std::byte{0x5a})};
  }
  static TestArgument filled(DType dtype, std::size_t count, const std::function<double(std::size_t)>& value);
};

/// Calls f(index, got, expected) where two memories differ by more than `tolerance` ulps.
void compare_memory(DType dtype, const std::vector<std::byte>& got, const std::vector<std::byte>& expected, double tolerance,
                    const std::function<void(std::size_t, double, double)>& f);

struct RunOptions {
  std::vector<std::array<std::int64_t, 3>> grids{{1, 1, 1}};  // one argument set each, over the same arguments
  double tolerance = 0;                                       // ulps
};

using Launch = std::function<void(std::span<const runtime::ArgumentSet>)>;

/// The arguments' memory after a launch over copies of them.
std::vector<TestArgument> after(const tile::Program& program, const std::vector<TestArgument>& arguments, const RunOptions& options,
                                const Launch& launch);

std::vector<TestArgument> interpreted(const tile::Program& program, const std::vector<TestArgument>& arguments, const RunOptions& options);

/// Every way of running the program must leave the interpreter's values in memory. Memory ends where the vector ends, so that a
/// sanitizer sees reads beyond it.
::testing::AssertionResult agrees(const tile::Program& program, const std::vector<TestArgument>& arguments, const RunOptions& options = {});

/// Numbers that an elementwise word may meet, specials among them.
double test_number(DType dtype, std::size_t i, std::mt19937& random);

}  // namespace tegula::host
