#pragma once
// A program's results: by the reference, and in each mode.

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/graph/precision.h"
#include "tests/property/program.h"

namespace tegula::property {

struct Value {
  DType dtype;
  Shape shape;
  std::vector<double> elements;
  bool operator==(const Value&) const = default;
};

/// The outcome of one call: the kept values, the gradients, then each Variable's value afterwards; or the text of an error.
struct Outcome {
  std::vector<Value> values;
  std::string error;
};

/// Its first elements, for people.
std::string to_string(const Outcome& outcome);

/// The program as it means something for a precision: only f32 becomes halves.
Program with_precision(const Program& program, Precision precision);

/// The program in f64, node by node, carried out so many times in a row; nothing is compiled, and Variables are kept by hand. A precision allows
/// rounding to halves. `checkpoints`: parts of it are computed again. Throws the program's errors.
std::vector<Outcome> reference_outcomes(const Program& program, int calls, std::uint64_t noise, Precision precision = Precision::fp32,
                                        bool checkpoints = false);

/// True if a second call may give another result: the program writes Variables or draws random numbers.
bool has_state(const Program& program);

/// The bounds on rounding for the elements of a program's values, from references with noise.
class Expectation {
 public:
  explicit Expectation(const Program& program, Precision precision = Precision::fp32);
  /// Nothing, or the error in the outcome of this call (counted from 0), of a mode with checkpoints or without.
  std::string compare(const Outcome& got, int call, bool checkpoints = false);
  /// The calls after which the outcome is known.
  int calls() const { return static_cast<int>(exact_.size()); }

  struct Counts {
    std::int64_t values = 0, elements = 0, undecided = 0;  // undecided: rounding may make anything of those elements
  } counts;

 private:
  using Noisy = std::vector<std::vector<Outcome>>;  // [noise][call]
  std::string differs(const Outcome& got, int call, bool count, const Noisy& more = {});

  Program program_;
  Precision precision_;
  std::vector<Outcome> exact_;
  Noisy noisy_;
  Noisy noisy_again_;  // of the graph with checkpoints
};

}  // namespace tegula::property
