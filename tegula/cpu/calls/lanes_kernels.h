#pragma once
// Inner loops of the convolution with images in the lanes of a vector (convolution_lanes.h), dispatched by instruction set.
//
// A *block* holds as many images as a vector has lanes: position p of image i is at p * lanes + i. Every multiplication is therefore a full
// vector for all channel counts, strides and paddings. Offsets below are in floats and multiples of lanes.

#include <cstdint>
#include <span>

namespace tegula::host {

/// Images per block: the lanes of an f32 vector.
std::int64_t lane_count();

/// Consecutive elements of an image that are consecutive positions of a block.
struct LaneRun {
  std::int64_t element = 0;  // in the image
  std::int64_t position = 0;  // in the block
  std::int64_t length = 0;
};

/// Transposes runs of `images` images, image_stride apart, into a block; lanes without an image get 0.
void gather_lanes(const float* images, std::int64_t image_stride, std::int64_t count, std::span<const LaneRun> runs, float* block);
/// The reverse; lanes without an image are left out.
void scatter_lanes(const float* block, std::span<const LaneRun> runs, std::int64_t count, float* images, std::int64_t image_stride);

/// out[k, p] = epilogue(sum over taps t of weight[k, t] * in[p, t]), where in[p, t] is the vector at pixel_in[p] + tap[t].
struct TapSum {
  const float* in = nullptr;
  std::span<const std::int32_t> tap;
  const float* weights = nullptr;  // packed: (blocks of tap_sum_rows(outputs) outputs, taps, that many rows), rows padded with anything
  std::int64_t outputs = 0;
  std::span<const std::int32_t> pixel_in, pixel_out;
  float* out = nullptr;
  std::int64_t output_stride = 0;  // between outputs k
  const float* bias = nullptr;  // (outputs) or nothing
  bool relu = false;
};
void tap_sum(const TapSum& job);

/// The number of outputs that the kernel computes together, if there are enough.
std::int64_t tap_sum_rows(std::int64_t outputs);

/// gradient[t, k] += sum over pixels p and lanes of in[p, t] * dy[k, p], gradient (taps, outputs rounded up to 4).
struct TapGradient {
  const float* in = nullptr;
  std::span<const std::int32_t> tap;
  const float* dy = nullptr;
  std::int64_t outputs = 0, output_stride = 0;
  std::span<const std::int32_t> pixel_in, pixel_out;
  float* gradient = nullptr;
};
void tap_gradient(const TapGradient& job);

/// sums[k] += sum over pixels and lanes of dy[k, p].
void lane_sums(const float* dy, std::int64_t outputs, std::int64_t output_stride, std::span<const std::int32_t> pixels, float* sums);

}  // namespace tegula::host
