#pragma once
// Windows of many lanes at once, by vectors. Used by pooling.cpp.

#include <array>
#include <cstdint>

namespace tegula::host {

/// Windows whose taps lie alike: `runs` times `lanes` of them, in f32.
struct WindowLanes {
  const float* from = nullptr;                // the first tap of the first window
  std::int64_t lanes = 0, step = 1;           // side by side in the result; elements from a lane's tap to the next lane's, 1 or 2
  std::int64_t runs = 1, from_run = 0, to_run = 0;  // elements from one run to the next, of the input and of results
  std::array<std::int64_t, 3> taps{1, 1, 1};  // along each axis, at least one
  std::array<std::int64_t, 3> distance{};     // elements from one tap to the next
  std::array<std::int32_t, 3> number{};       // and how their numbers grow
  std::int32_t first_number = 0;
};

/// The largest of each window: a NaN counts as that, and of equals the first stays.
void max_of_windows(const WindowLanes& windows, float* to);
/// The same with its tap's number; `to` may be null.
void max_and_taps_of_windows(const WindowLanes& windows, float* to, std::uint8_t* taps, std::int64_t taps_run);
/// Sums in the order of the taps, by the divisor.
void mean_of_windows(const WindowLanes& windows, float divisor, float* to);

}  // namespace tegula::host
