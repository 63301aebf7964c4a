#pragma once
// A loop of which something is begun for later iterations: what fetch_ahead and fetch_tiles have in common.

#include <span>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

class AheadLoop {
 protected:
  /// Takes the statements that carry values on out of the loop's body.
  explicit AheadLoop(For loop);
  ~AheadLoop() = default;

  /// Copies the loop's statements that these are computed by.
  void find_addresses(std::span<const Ring::Address> addresses);
  /// Appends the first read of what `pointer` reaches, if the loop says it: what was written before has arrived behind it.
  void touch(const Expression& pointer, Block& out) const;
  /// Declares a constant of the counter's type.
  Statement let(Name name, Expression value) const;
  /// Appends the loop's own statements and those `behind` them, the step to the next stage, and what carries values on; the loop has this body then.
  void close(Block body, int stages, Block behind = {});

  For loop_;
  Block carried_;  // statements of the loop that carry its values on
  Block addresses_;  // what copies are reached by
};

}  // namespace tegula::simt
