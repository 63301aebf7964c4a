#pragma once
// Sums over rows of floats, for the best instruction set of the machine.

#include <cstdint>

namespace tegula::text {

/// Rows begin at multiples of this many floats, and are padded with 0: no loop has a rest.
inline constexpr std::int64_t kRowStep = 16;
inline std::int64_t padded_row(std::int64_t size) { return (size + kRowStep - 1) / kRowStep * kRowStep; }

/// Functions on rows of `size` floats, a multiple of kRowStep.
struct RowFunctions {
  float (*dot)(const float* a, const float* b, std::int64_t size);
  /// to += factor * row
  void (*add)(float* to, const float* row, float factor, std::int64_t size);
  /// dots[k] = a · rows[k]
  void (*dots)(const float* a, const float* const* rows, std::int64_t count, std::int64_t size, float* dots);
  /// For each k: change += factor[k] * rows[k], and rows[k] += factor[k] * a with the row before it was changed.
  void (*exchange)(const float* a, float* const* rows, const float* factor, std::int64_t count, std::int64_t size, float* change);
};
const RowFunctions& row_functions();

}  // namespace tegula::text
