#pragma once
// A random graph as a small program: data, so that it can be carried out again in any mode, made smaller and printed as a few lines.
//
//   v0 = input f64 (3, 4) #7              values drawn from seed 7
//   v1 = variable f64 (3, 1) #8           state
//   v8 = weight f64 (3, 4) #9             stays as it is: an unchanged Variable where its seed is even, else a tensor that the function captures
//   v2 = read v1
//   v3 = sum v0 [1 1 0 0] *               an op of the table with its knobs; kept: among the results
//   v4 = write v1 v3 [1 0 0 0]
//   v5 = look v3 [2 0 0 0]
//   v6 = gradient v3 v0 [0 0 0 0] *       of a mean over v3 by v0
//   v7 = gradients v0 v2 [2 0 0 0]        of a mean over all that is kept, by each; 2: and of a mean over those gradients

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/core/shape.h"

namespace tegula::property {

/// Numbers from which an op derives its attributes: each is taken modulo the possible values, so that every program means something.
using Knobs = std::array<std::uint32_t, 4>;

struct Instruction {
  std::string op;
  std::vector<int> inputs;  // numbers of earlier instructions
  Knobs knobs{};
  bool kept = false;
  // input, variable, weight:
  DType dtype = DType::f64;
  Shape shape;
  std::uint64_t seed = 0;

  bool is_leaf() const { return op == "input" || op == "variable" || op == "weight"; }
  /// Carried out for its effect: has no value of its own.
  bool is_statement() const { return op == "variable" || op == "write" || op == "look" || op == "gradients"; }
  /// Takes random numbers, so that its place in the program's order counts.
  bool draws() const;
};

using Program = std::vector<Instruction>;

std::string to_string(const Program& program);
/// The reverse. Throws std::runtime_error naming the line.
Program parse(const std::string& text);

/// Without the instructions that nothing kept depends on; numbers are closed up.
Program without_dead(const Program& program);
/// The values of a leaf: a few digits, with ties; the same for the same dtype, shape and seed.
std::vector<double> leaf_values(const Instruction& leaf);

/// A fast generator with the same numbers everywhere (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// In [0, n).
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double p) { return uniform() < p; }

 private:
  std::uint64_t state_;
};

}  // namespace tegula::property
