#pragma once
// The arithmetic of convolution_planes.cpp: vectors are neighbours on a line of one channel's plane.

#include <cstdint>
#include <span>
#include <vector>

namespace tegula::host {

/// Floats in a vector of this machine.
std::int64_t plane_lanes();

/// Pairs of lines of one length, cut into vectors: places that are read and written (or read together), in floats.
struct LinePairs {
  struct Pair {
    std::int32_t from = 0, to = 0;
  };
  std::vector<Pair> whole, ends;
  std::int64_t end = 0;  // floats of each of `ends`

  void add(std::int64_t from, std::int64_t to, std::int64_t length);
};

void copy_lines(const float* from, const LinePairs& lines, float* to);

/// to[i] = epilogue(Σ over taps t of weight[t] * from[i + tap[t]]) along all lines. A vector at any place of `from` may be read, whatever its end.
struct LineSum {
  const float* from = nullptr;
  std::span<const std::int32_t> tap;
  const float* weight = nullptr;  // (taps)
  const LinePairs* lines = nullptr;
  float* to = nullptr;
  float bias = 0;
  bool relu = false;
};
void line_sum(const LineSum& job);

/// gradient[t] += Σ from[i + tap[t]] * dy[i] along all lines, and the sum of dy where it is wanted.
struct LineGradient {
  const float* from = nullptr;
  std::span<const std::int32_t> tap;
  const LinePairs* lines = nullptr;
  const float* dy = nullptr;
  float* gradient = nullptr;  // (taps)
  float* sum = nullptr;  // the sum of dy, or null
};
void line_gradient(const LineGradient& job);

}  // namespace tegula::host
