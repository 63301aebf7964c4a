#pragma once
// What a program gives: by the reference, and in each mode.

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

/// Of one call: what is kept, the gradients, then what each Variable holds afterwards. An error instead: its text.
struct Outcome {
  std::vector<Value> values;
  std::string error;
};

/// Its first elements, for people.
std::string to_string(const Outcome& outcome);

/// The program as it means something for a precision: only f32 becomes halves.
Program with_precision(const Program& program, Precision precision);

/// The program in f64, node by node, carried out so many times in a row; nothing is compiled, and Variables are kept by hand. A precision says what may be
/// rounded to halves. Throws what the program throws.
std::vector<Outcome> reference_outcomes(const Program& program, int calls, std::uint64_t noise, Precision precision = Precision::fp32);

/// Whether a second call may give something else: it writes Variables or draws random numbers.
bool has_state(const Program& program);

/// What rounding may make of the elements of a program's values, from references with noise.
class Expectation {
 public:
  explicit Expectation(const Program& program, Precision precision = Precision::fp32);
  /// Nothing, or what is wrong with the outcome of this call (counted from 0).
  std::string compare(const Outcome& got, int call);
  /// The calls after which the outcome is known.
  int calls() const { return static_cast<int>(exact_.size()); }

  struct Counts {
    std::int64_t values = 0, elements = 0, undecided = 0;  // undecided: rounding may make anything of those elements
  } counts;

 private:
  std::string differs(const Outcome& got, int call, bool count);

  Program program_;
  Precision precision_;
  std::vector<Outcome> exact_;
  std::vector<std::vector<Outcome>> noisy_;  // [noise][call]
};

}  // namespace tegula::property
