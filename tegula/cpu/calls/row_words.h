#pragma once
// The epilogue of a call (runtime/expression.h) on rows in memory, word by word: by the step functions of tile programs (cpu/simd/vector.h), which are
// what the ops' formulas become in programs too.

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/cpu/executor/executor_bytecode.h"
#include "tegula/runtime/expression.h"

namespace tegula::host {

class RowWords {
 public:
  /// f32 or f64. Throws Error for a word that the CPU has not.
  RowWords(const runtime::Expression& expression, DType dtype);

  /// Replaces `count` neighbours. `reads`: the addresses of what the expression reads, in its order: of a Number one element, of others `count`.
  void run(void* row, std::int64_t count, std::span<const void* const> reads) const;

 private:
  std::int64_t element_;  // bytes
  std::vector<MapStep> steps_;
  std::vector<Slot> slots_;  // rows, columns, and the address of each value
  std::vector<Slot> constants_;  // of the values that are constants
  struct Read {
    std::int32_t slot;
    bool moves;  // along the row
  };
  std::vector<Read> reads_;
};

}  // namespace tegula::host
