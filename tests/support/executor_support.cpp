#include "tests/support/executor_support.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace tegula::host {
namespace {

/// The distance of two floats in units in the last place of the larger; 0 for two NaNs.
template <class T>
double ulps(T a, T b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  const T largest = std::max(std::abs(a), std::abs(b));
  const T unit = std::nextafter(largest, std::numeric_limits<T>::infinity()) - largest;
  const T smallest = std::numeric_limits<T>::denorm_min();
  return std::abs(static_cast<double>(a) - static_cast<double>(b)) / static_cast<double>(std::max(unit, smallest));
}

}  // namespace

TestArgument TestArgument::filled(DType dtype, std::size_t count, const std::function<double(std::size_t)>& value) {
  TestArgument argument = empty(dtype, count);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < count; ++i) {
      const T element = from_double<T>(value(i));
      std::memcpy(argument.bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return argument;
}

void compare_memory(DType dtype, const std::vector<std::byte>& got, const std::vector<std::byte>& expected, double tolerance,
                    const std::function<void(std::size_t, double, double)>& f) {
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i * sizeof(T) < got.size(); ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        if (got[i] != expected[i]) f(i, static_cast<double>(got[i]), static_cast<double>(expected[i]));
      } else {
        T a, b;
        std::memcpy(&a, got.data() + i * sizeof(T), sizeof(T));
        std::memcpy(&b, expected.data() + i * sizeof(T), sizeof(T));
        bool same = std::memcmp(&a, &b, sizeof(T)) == 0;
        if constexpr (std::is_floating_point_v<T>) same = same || ulps(a, b) <= tolerance;
        else if constexpr (!std::is_integral_v<T>)
          same = same || (std::isnan(as_double(a)) && std::isnan(as_double(b))) || as_double(a) == as_double(b);
        if (!same) f(i, as_double(a), as_double(b));
      }
    }
  });
}

std::vector<TestArgument> after(const tile::Program& program, const std::vector<TestArgument>& arguments, const RunOptions& options,
                                const Launch& launch) {
  std::vector<TestArgument> own = arguments;
  std::vector<runtime::Argument> values(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    const tile::Parameter& parameter = program.parameters[i];
    TestArgument& memory = own[i].same_as >= 0 ? own[static_cast<std::size_t>(own[i].same_as)] : own[i];
    if (parameter.pointer) values[i].pointer = memory.bytes.data();
    else if (is_float(parameter.dtype)) values[i].real = own[i].real;
    else values[i].integer = own[i].integer;
  }
  std::vector<runtime::ArgumentSet> sets;
  for (const auto& grid : options.grids) sets.push_back({values.data(), grid});
  launch(sets);
  return own;
}

std::vector<TestArgument> interpreted(const tile::Program& program, const std::vector<TestArgument>& arguments, const RunOptions& options) {
  return after(program, arguments, options, [&](std::span<const runtime::ArgumentSet> sets) {
    for (const runtime::ArgumentSet& set : sets) tile::interpret(program, set);
  });
}

::testing::AssertionResult agrees(const tile::Program& program, const std::vector<TestArgument>& arguments, const RunOptions& options) {
  const auto run = [&](const Launch& launch) { return after(program, arguments, options, launch); };
  const auto expected = interpreted(program, arguments, options);
  std::vector<TestArgument> first;
  for (const ExecutorOptions& how : {ExecutorOptions{true}, {false}, {true, 8}}) {
    const auto kernel = compile_program(program, how);
    if (how.strip == 8) first.clear();  // strips add up in another order
    for (const int threads : {1, 2}) {
      for (const bool streaming : {false, true}) {
        const auto got = run([&](std::span<const runtime::ArgumentSet> sets) { kernel->launch(sets, {threads, streaming, nullptr}); });
        if (first.empty()) first = got;
        std::string problem;
        for (std::size_t i = 0; i < got.size(); ++i) {
          int count = 0;
          compare_memory(got[i].dtype, got[i].bytes, expected[i].bytes, options.tolerance, [&](std::size_t at, double a, double b) {
            if (++count > 4) return;
            char line[160];
            std::snprintf(line, sizeof line, "argument %zu element %zu: %.9g, expected %.9g\n", i, at, a, b);
            problem += line;
          });
          if (got[i].bytes != first[i].bytes) problem += "argument " + std::to_string(i) + " differs between ways of running\n";
        }
        if (!problem.empty()) {
          return ::testing::AssertionFailure() << problem << "in_place " << how.in_place << " strip " << how.strip << " threads " << threads
                                               << " streaming " << streaming << "\n"
                                               << tile::to_string(program) << "\n"
                                               << kernel->listing();
        }
      }
    }
  }
  return ::testing::AssertionSuccess();
}

double test_number(DType dtype, std::size_t i, std::mt19937& random) {
  if (dtype == boolean) return static_cast<double>(random() % 2);
  if (is_integer(dtype)) {
    constexpr double kSpecial[] = {0, 1, -1, 2, 127, 255, 1000};
    return i % 9 == 0 ? kSpecial[i / 9 % 7] : static_cast<double>(random() % 200) - 100;
  }
  constexpr double kSpecial[] = {0.0,   -0.0,   1.0,  -1.0, HUGE_VAL, -HUGE_VAL, std::numeric_limits<double>::quiet_NaN(),
                                 1e-40, -1e-40, 3e38, 0.5,  -2.5,     88.5,      -103};
  return i % 5 == 0 ? kSpecial[i / 5 % 14] : static_cast<double>(static_cast<std::int64_t>(random() % 20001) - 10000) / 1024.0;
}

}  // namespace tegula::host
