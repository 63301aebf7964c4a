#pragma once
// The one exception type of the library.

#include <stdexcept>
#include <string>

#include "tegula/core/line.h"

namespace tegula {

/// The parts of every error: the op that refused, what it got, what it expected, the line of the user's program, and the advice.
/// Empty fields are left out of the message.
struct Report {
  std::string op = {};                // "matmul", "Loader", "safetensors"
  std::string got = {};               // "shapes (3, 4) and (5, 6)"
  std::string expected = {};          // "the inner sizes (4 and 5) to be equal"
  std::string advice = {};            // "transpose the right operand"
  Line where = {};                    // the user's line; line 0 when there is none (files)
};

/// Thrown for every misuse and every failure. what() is the whole report on a few lines:
///   matmul: got shapes (3, 4) and (5, 6), expected the inner sizes (4 and 5) to be equal
///     at main.cpp:12
///     hint: transpose the right operand
class Error : public std::runtime_error {
 public:
  explicit Error(Report report);
  const Report& report() const { return report_; }

 private:
  Report report_;
};

}  // namespace tegula
