#include "tegula/cpu/calls/lanes_kernels.h"

#include <algorithm>

#include "tegula/cpu/simd/vector_targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/calls/lanes_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tegula/cpu/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {  // other files use some of these names too
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag()));

std::int64_t lanes() { return kLanes; }

#if HWY_TARGET != HWY_SCALAR
constexpr std::int64_t kGroup = 4;  // positions that are transposed together: one 128-bit block of an image

/// Block b of the result holds four elements of image 4*b: image_stride4 is the distance from there to the next block's.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, std::int64_t image_stride4) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr std::int64_t kBlocks = static_cast<std::int64_t>(hn::MaxLanes(half)) / 4;
    return hn::Combine(d, load_blocks(half, from + kBlocks * image_stride4, image_stride4), load_blocks(half, from, image_stride4));
  }
}
template <class D>
HWY_INLINE void store_blocks(hn::Vec<D> v, D d, float* to, std::int64_t image_stride4) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    constexpr std::int64_t kBlocks = static_cast<std::int64_t>(hn::MaxLanes(half)) / 4;
    store_blocks(hn::LowerHalf(half, v), half, to, image_stride4);
    store_blocks(hn::UpperHalf(half, v), half, to + kBlocks * image_stride4, image_stride4);
  }
}

/// Transposes the 4 x 4 matrices that the four vectors hold in each 128-bit block.
HWY_INLINE void transpose(V& v0, V& v1, V& v2, V& v3) {
  const Tag d;
  const hn::RepartitionToWide<hn::RebindToUnsigned<Tag>> wide;
  const auto lower01 = hn::BitCast(wide, hn::InterleaveLower(d, v0, v1)), upper01 = hn::BitCast(wide, hn::InterleaveUpper(d, v0, v1));
  const auto lower23 = hn::BitCast(wide, hn::InterleaveLower(d, v2, v3)), upper23 = hn::BitCast(wide, hn::InterleaveUpper(d, v2, v3));
  v0 = hn::BitCast(d, hn::InterleaveLower(wide, lower01, lower23));
  v1 = hn::BitCast(d, hn::InterleaveUpper(wide, lower01, lower23));
  v2 = hn::BitCast(d, hn::InterleaveLower(wide, upper01, upper23));
  v3 = hn::BitCast(d, hn::InterleaveUpper(wide, upper01, upper23));
}

HWY_INLINE void gather_group(const float* from, std::int64_t image_stride, float* to) {
  const Tag d;
  V v0 = load_blocks(d, from, 4 * image_stride), v1 = load_blocks(d, from + image_stride, 4 * image_stride);
  V v2 = load_blocks(d, from + 2 * image_stride, 4 * image_stride), v3 = load_blocks(d, from + 3 * image_stride, 4 * image_stride);
  transpose(v0, v1, v2, v3);
  hn::Store(v0, d, to);
  hn::Store(v1, d, to + kLanes);
  hn::Store(v2, d, to + 2 * kLanes);
  hn::Store(v3, d, to + 3 * kLanes);
}
HWY_INLINE void scatter_group(const float* from, float* to, std::int64_t image_stride) {
  const Tag d;
  V v0 = hn::Load(d, from), v1 = hn::Load(d, from + kLanes), v2 = hn::Load(d, from + 2 * kLanes), v3 = hn::Load(d, from + 3 * kLanes);
  transpose(v0, v1, v2, v3);
  store_blocks(v0, d, to, 4 * image_stride);
  store_blocks(v1, d, to + image_stride, 4 * image_stride);
  store_blocks(v2, d, to + 2 * image_stride, 4 * image_stride);
  store_blocks(v3, d, to + 3 * image_stride, 4 * image_stride);
}
#else
constexpr std::int64_t kGroup = 1;
HWY_INLINE void gather_group(const float* from, std::int64_t, float* to) { *to = *from; }
HWY_INLINE void scatter_group(const float* from, float* to, std::int64_t) { *to = *from; }
#endif

void gather(const float* images, std::int64_t image_stride, std::int64_t count, std::span<const LaneRun> runs, float* block) {
  for (const LaneRun& run : runs) {
    const float* from = images + run.element;
    float* to = block + run.position * kLanes;
    if (count < kLanes || run.length < kGroup) {
      for (std::int64_t p = 0; p < run.length; ++p) {
        for (std::int64_t i = 0; i < kLanes; ++i) to[p * kLanes + i] = i < count ? from[i * image_stride + p] : 0.0f;
      }
      continue;
    }
    std::int64_t p = 0;
    for (; p + kGroup <= run.length; p += kGroup) gather_group(from + p, image_stride, to + p * kLanes);
    // The rest once more with some that are done.
    if (p < run.length) gather_group(from + run.length - kGroup, image_stride, to + (run.length - kGroup) * kLanes);
  }
}

void scatter(const float* block, std::span<const LaneRun> runs, std::int64_t count, float* images, std::int64_t image_stride) {
  for (const LaneRun& run : runs) {
    const float* from = block + run.position * kLanes;
    float* to = images + run.element;
    if (count < kLanes || run.length < kGroup) {
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t p = 0; p < run.length; ++p) to[i * image_stride + p] = from[p * kLanes + i];
      }
      continue;
    }
    std::int64_t p = 0;
    for (; p + kGroup <= run.length; p += kGroup) scatter_group(from + p * kLanes, to + p, image_stride);
    if (p < run.length) scatter_group(from + (run.length - kGroup) * kLanes, to + run.length - kGroup, image_stride);
  }
}

// Tiles of accumulators, rows (outputs) x pixels: 24 of 32 registers, or 12 of 16.
#if HWY_MAX_BYTES >= 64
constexpr int kRowChoices[] = {12, 8, 4};
constexpr int pixels_of(int rows) { return 24 / rows; }
constexpr int kGradientTaps = 6;
#else
constexpr int kRowChoices[] = {6, 4, 2};
constexpr int pixels_of(int rows) { return 12 / rows; }
constexpr int kGradientTaps = 3;
#endif
constexpr int kGradientRows = 4;

std::int64_t sum_rows(std::int64_t outputs) {
  std::int64_t best = kRowChoices[0], padded = 1 << 30;
  for (const int rows : kRowChoices) {
    const std::int64_t size = (outputs + rows - 1) / rows * rows;
    if (size < padded) padded = size, best = rows;
  }
  return best;
}

/// One tile: kRows outputs of kPixels pixels, the whole sum in registers.
template <int kRows, int kPixels>
HWY_NOINLINE void sum_tile(const TapSum& job, const float* weights, std::int64_t first, const float* const* in, float* const* out) {
  const Tag d;
  V sum[kRows][kPixels];
  TEGULA_UNROLL for (int i = 0; i < kRows; ++i) {
    const V start = hn::Set(d, job.bias && first + i < job.outputs ? job.bias[first + i] : 0.0f);
    TEGULA_UNROLL for (int j = 0; j < kPixels; ++j) sum[i][j] = start;
  }
  const float* pixel[kPixels];
  TEGULA_UNROLL for (int j = 0; j < kPixels; ++j) pixel[j] = in[j];
  const std::int32_t* tap = job.tap.data();
  const std::int32_t* end = tap + job.tap.size();
  for (; tap != end; ++tap, weights += kRows) {
    const std::int64_t offset = *tap;
    V x[kPixels];
    TEGULA_UNROLL for (int j = 0; j < kPixels; ++j) x[j] = hn::Load(d, pixel[j] + offset);
    TEGULA_UNROLL for (int i = 0; i < kRows; ++i) {
      const V w = hn::Set(d, weights[i]);
      TEGULA_UNROLL for (int j = 0; j < kPixels; ++j) sum[i][j] = hn::MulAdd(w, x[j], sum[i][j]);
    }
  }
  const std::int64_t valid = job.outputs - first;
  TEGULA_UNROLL for (int i = 0; i < kRows; ++i) {
    if (i >= valid) break;
    TEGULA_UNROLL for (int j = 0; j < kPixels; ++j) {
      V y = sum[i][j];
      if (job.relu) y = hn::IfThenZeroElse(hn::Lt(y, hn::Zero(d)), y);  // NaN stays NaN
      hn::Store(y, d, out[j] + (first + i) * job.output_stride);
    }
  }
}

template <int kRows>
void sum_of_rows(const TapSum& job) {
  constexpr int kPixels = pixels_of(kRows);
  const std::int64_t pixels = static_cast<std::int64_t>(job.pixel_in.size()), taps = static_cast<std::int64_t>(job.tap.size());
  for (std::int64_t p = 0; p < pixels; p += kPixels) {
    const float* in[kPixels];
    float* out[kPixels];
    for (int j = 0; j < kPixels; ++j) {
      // Behind the end the last pixel is computed again: the same values go to the same place.
      const auto at = static_cast<std::size_t>(std::min(p + j, pixels - 1));
      in[j] = job.in + job.pixel_in[at];
      out[j] = job.out + job.pixel_out[at];
    }
    for (std::int64_t k = 0; k < job.outputs; k += kRows) sum_tile<kRows, kPixels>(job, job.weights + k * taps, k, in, out);
  }
}

void sum_of_taps(const TapSum& job) {
  const std::int64_t rows = sum_rows(job.outputs);
  if (rows == kRowChoices[0]) sum_of_rows<kRowChoices[0]>(job);
  else if (rows == kRowChoices[1]) sum_of_rows<kRowChoices[1]>(job);
  else sum_of_rows<kRowChoices[2]>(job);
}

template <class D>
HWY_INLINE void add_blocks(D d, hn::Vec<D> v, float* to) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    hn::StoreU(hn::Add(hn::LoadU(d, to), v), d, to);
  } else {
    const hn::Half<D> half;
    add_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
  }
}

/// to[i] += sum of the lanes of v_i.
HWY_INLINE void add_lane_sums(V v0, V v1, V v2, V v3, float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (const V v : {v0, v1, v2, v3}) *to++ += hn::GetLane(v);
#else
  const Tag d;
  const V even = hn::Add(hn::InterleaveLower(d, v0, v2), hn::InterleaveUpper(d, v0, v2));
  const V odd = hn::Add(hn::InterleaveLower(d, v1, v3), hn::InterleaveUpper(d, v1, v3));
  add_blocks(d, hn::Add(hn::InterleaveLower(d, even, odd), hn::InterleaveUpper(d, even, odd)), to);
#endif
}

/// Four outputs x kTaps taps over all pixels.
template <int kTaps>
HWY_NOINLINE void gradient_tile(const TapGradient& job, std::int64_t first_output, std::size_t first_tap) {
  const Tag d;
  V sum[kGradientRows][kTaps];
  TEGULA_UNROLL for (int i = 0; i < kGradientRows; ++i) TEGULA_UNROLL for (int j = 0; j < kTaps; ++j) sum[i][j] = hn::Zero(d);
  const float* row[kGradientRows];
  // After the last output the last one is used again; those results are not read.
  TEGULA_UNROLL for (int i = 0; i < kGradientRows; ++i) row[i] =
      job.dy + std::min<std::int64_t>(first_output + i, job.outputs - 1) * job.output_stride;
  const float* tap[kTaps];
  TEGULA_UNROLL for (int j = 0; j < kTaps; ++j) tap[j] = job.in + job.tap[first_tap + static_cast<std::size_t>(j)];
  const std::int32_t *in = job.pixel_in.data(), *out = job.pixel_out.data();
  for (std::size_t p = 0; p < job.pixel_in.size(); ++p) {
    const std::int64_t in_offset = in[p], out_offset = out[p];
    V y[kGradientRows];
    TEGULA_UNROLL for (int i = 0; i < kGradientRows; ++i) y[i] = hn::Load(d, row[i] + out_offset);
    TEGULA_UNROLL for (int j = 0; j < kTaps; ++j) {
      const V x = hn::Load(d, tap[j] + in_offset);
      TEGULA_UNROLL for (int i = 0; i < kGradientRows; ++i) sum[i][j] = hn::MulAdd(x, y[i], sum[i][j]);
    }
  }
  const std::int64_t padded = (job.outputs + 3) / 4 * 4;
  float* to = job.gradient + static_cast<std::int64_t>(first_tap) * padded + first_output;
  TEGULA_UNROLL for (int j = 0; j < kTaps; ++j) add_lane_sums(sum[0][j], sum[1][j], sum[2][j], sum[3][j], to + j * padded);
}

void gradient_of_taps(const TapGradient& job) {
  for (std::int64_t k = 0; k < job.outputs; k += kGradientRows) {
    std::size_t t = 0;
    for (; t + kGradientTaps <= job.tap.size(); t += kGradientTaps) gradient_tile<kGradientTaps>(job, k, t);
    for (; t + 3 <= job.tap.size(); t += 3) gradient_tile<3>(job, k, t);
    for (; t < job.tap.size(); ++t) gradient_tile<1>(job, k, t);
  }
}

void sums_of_lanes(const float* dy, std::int64_t outputs, std::int64_t output_stride, std::span<const std::int32_t> pixels, float* sums) {
  const Tag d;
  for (std::int64_t k = 0; k < outputs; ++k) {
    V sum[2] = {hn::Zero(d), hn::Zero(d)};
    for (std::size_t p = 0; p < pixels.size(); ++p) sum[p % 2] = hn::Add(sum[p % 2], hn::Load(d, dy + k * output_stride + pixels[p]));
    sums[k] += hn::GetLane(hn::SumOfLanes(d, hn::Add(sum[0], sum[1])));
  }
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
namespace {
HWY_EXPORT(lanes);
HWY_EXPORT(gather);
HWY_EXPORT(scatter);
HWY_EXPORT(sum_rows);
HWY_EXPORT(sum_of_taps);
HWY_EXPORT(gradient_of_taps);
HWY_EXPORT(sums_of_lanes);
}  // namespace

std::int64_t lane_count() { return HWY_DYNAMIC_DISPATCH(lanes)(); }
void gather_lanes(const float* images, std::int64_t image_stride, std::int64_t count, std::span<const LaneRun> runs, float* block) {
  HWY_DYNAMIC_DISPATCH(gather)(images, image_stride, count, runs, block);
}
void scatter_lanes(const float* block, std::span<const LaneRun> runs, std::int64_t count, float* images, std::int64_t image_stride) {
  HWY_DYNAMIC_DISPATCH(scatter)(block, runs, count, images, image_stride);
}
void tap_sum(const TapSum& job) { HWY_DYNAMIC_DISPATCH(sum_of_taps)(job); }
std::int64_t tap_sum_rows(std::int64_t outputs) { return HWY_DYNAMIC_DISPATCH(sum_rows)(outputs); }
void tap_gradient(const TapGradient& job) { HWY_DYNAMIC_DISPATCH(gradient_of_taps)(job); }
void lane_sums(const float* dy, std::int64_t outputs, std::int64_t output_stride, std::span<const std::int32_t> pixels, float* sums) {
  HWY_DYNAMIC_DISPATCH(sums_of_lanes)(dy, outputs, output_stride, pixels, sums);
}

}  // namespace tegula::host
#endif
