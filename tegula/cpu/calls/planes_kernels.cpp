#include "tegula/cpu/calls/planes_kernels.h"

#include <algorithm>

#include "tegula/cpu/simd/vector_targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/calls/planes_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tegula/cpu/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {  // other files use some of these names too
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
using Pair = LinePairs::Pair;

std::int64_t plane_lane_count() { return static_cast<std::int64_t>(hn::Lanes(Tag())); }

/// All of a vector, or its first `end` floats; the others are read as zeros and not written.
struct Whole {
  HWY_INLINE V load(const float* from) const { return hn::LoadU(Tag(), from); }
  HWY_INLINE void store(V v, float* to) const { hn::StoreU(v, Tag(), to); }
};
struct First {
  hn::Mask<Tag> mask;
  HWY_INLINE V load(const float* from) const { return hn::MaskedLoad(mask, Tag(), from); }
  HWY_INLINE void store(V v, float* to) const { hn::BlendedStore(v, mask, Tag(), to); }
};
First first(std::int64_t count) { return {hn::FirstN(Tag(), static_cast<std::size_t>(count))}; }

void copy_pairs(const float* from, const LinePairs& lines, float* to) {
  for (const Pair& p : lines.whole) Whole().store(Whole().load(from + p.from), to + p.to);
  if (lines.end == 1) {
    for (const Pair& p : lines.ends) to[p.to] = from[p.from];
  } else if (lines.end > 0) {
    const First part = first(lines.end);
    for (const Pair& p : lines.ends) part.store(part.load(from + p.from), to + p.to);
  }
}

constexpr std::size_t kTogether = 8;  // vectors of results: as many as hide the latency of the additions

template <class Part>
void sum_pairs(const LineSum& job, const std::vector<Pair>& pairs, Part part) {
  const Tag d;
  for (std::size_t p = 0; p < pairs.size(); p += kTogether) {
    const float* from[kTogether];
    float* to[kTogether];
    V sum[kTogether];
    TEGULA_UNROLL for (std::size_t i = 0; i < kTogether; ++i) {
      // Behind the end the last vector is computed again: the same values go to the same place.
      const Pair& pair = pairs[std::min(p + i, pairs.size() - 1)];
      from[i] = job.from + pair.from, to[i] = job.to + pair.to;
      sum[i] = hn::Set(d, job.bias);
    }
    for (std::size_t t = 0; t < job.tap.size(); ++t) {
      const V weight = hn::Set(d, job.weight[t]);
      const std::int64_t tap = job.tap[t];
      TEGULA_UNROLL for (std::size_t i = 0; i < kTogether; ++i) sum[i] = hn::MulAdd(weight, hn::LoadU(d, from[i] + tap), sum[i]);
    }
    TEGULA_UNROLL for (std::size_t i = 0; i < kTogether; ++i) {
      if (job.relu) sum[i] = hn::IfThenZeroElse(hn::Lt(sum[i], hn::Zero(d)), sum[i]);  // NaN stays NaN
      part.store(sum[i], to[i]);
    }
  }
}

void sum_lines(const LineSum& job) {
  sum_pairs(job, job.lines->whole, Whole());
  if (!job.lines->ends.empty()) sum_pairs(job, job.lines->ends, first(job.lines->end));
}

template <std::size_t kTaps, class Part>
HWY_INLINE void add_products(const LineGradient& job, const std::vector<Pair>& pairs, Part part, const std::int32_t* tap, V* sum) {
  for (const Pair& pair : pairs) {
    const V dy = part.load(job.dy + pair.to);
    const float* from = job.from + pair.from;
    TEGULA_UNROLL for (std::size_t t = 0; t < kTaps; ++t) sum[t] = hn::MulAdd(part.load(from + tap[t]), dy, sum[t]);
  }
}

template <std::size_t kTaps>
void gradient_of(const LineGradient& job, std::size_t first_tap) {
  const Tag d;
  V sum[kTaps];
  TEGULA_UNROLL for (std::size_t t = 0; t < kTaps; ++t) sum[t] = hn::Zero(d);
  std::int32_t tap[kTaps];
  std::copy_n(job.tap.data() + first_tap, kTaps, tap);
  add_products<kTaps>(job, job.lines->whole, Whole(), tap, sum);
  if (!job.lines->ends.empty()) add_products<kTaps>(job, job.lines->ends, first(job.lines->end), tap, sum);
  TEGULA_UNROLL for (std::size_t t = 0; t < kTaps; ++t) job.gradient[first_tap + t] += hn::GetLane(hn::SumOfLanes(d, sum[t]));
}

void gradient_lines(const LineGradient& job) {
  std::size_t t = 0;
  for (; t + 9 <= job.tap.size(); t += 9) gradient_of<9>(job, t);
  for (; t + 5 <= job.tap.size(); t += 5) gradient_of<5>(job, t);
  for (; t < job.tap.size(); ++t) gradient_of<1>(job, t);
  if (!job.sum) return;
  const Tag d;
  V sum = hn::Zero(d);
  for (const Pair& p : job.lines->whole) sum = hn::Add(sum, Whole().load(job.dy + p.to));
  for (const Pair& p : job.lines->ends) sum = hn::Add(sum, first(job.lines->end).load(job.dy + p.to));
  *job.sum += hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
namespace {
HWY_EXPORT(plane_lane_count);
HWY_EXPORT(copy_pairs);
HWY_EXPORT(sum_lines);
HWY_EXPORT(gradient_lines);
}  // namespace

std::int64_t plane_lanes() { return HWY_DYNAMIC_DISPATCH(plane_lane_count)(); }
void LinePairs::add(std::int64_t from, std::int64_t to, std::int64_t length) {
  const std::int64_t lanes = plane_lanes();
  const auto at = [&](std::int64_t i) { return Pair{static_cast<std::int32_t>(from + i), static_cast<std::int32_t>(to + i)}; };
  std::int64_t i = 0;
  for (; i + lanes <= length; i += lanes) whole.push_back(at(i));
  if (i == length) return;
  end = length - i;
  ends.push_back(at(i));
}
void copy_lines(const float* from, const LinePairs& lines, float* to) { HWY_DYNAMIC_DISPATCH(copy_pairs)(from, lines, to); }
void line_sum(const LineSum& job) { HWY_DYNAMIC_DISPATCH(sum_lines)(job); }
void line_gradient(const LineGradient& job) { HWY_DYNAMIC_DISPATCH(gradient_lines)(job); }

}  // namespace tegula::host
#endif
