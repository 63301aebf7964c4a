#pragma once
// The epilogue of a call (runtime/expression.h) on rows in memory, word by word: by the step functions of tile programs (cpu/simd/vector.h), which are
// what the ops' formulas become in programs too.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tegula/cpu/executor/executor_bytecode.h"
#include "tegula/runtime/expression.h"

namespace tegula::host {

class RowWords {
  static constexpr std::int64_t kStripBytes = 1024;  // of a value, so that all of them stay in the first-level cache
  static constexpr std::size_t kMostValues = 32;
  static constexpr std::int32_t kRows = 0, kColumns = 1, kFirst = 2;  // slots

 public:
  /// f32 or f64. Throws Error for a word that the CPU has not.
  RowWords(const runtime::Expression& expression, DType dtype);
  /// True if the CPU has all words.
  static bool has(const runtime::Expression& expression, DType dtype);

  /// The elements of a row that are computed together.
  std::int64_t longest() const { return kStripBytes / element_; }
  /// Memory for rows one after the other. The words must live as long.
  class Space {
   public:
    explicit Space(const RowWords& words);
    /// out[i] of row[i], for `count` neighbours, at most longest(), which may be the same memory. `reads`: as below.
    void run(const void* row, void* out, std::int64_t count, std::span<const void* const> reads);

   private:
    const RowWords& words_;
    alignas(64) std::array<std::byte, kMostValues * kStripBytes> values_;
    std::array<Slot, kFirst + kMostValues> slots_;
    Frame frame_;
  };

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
