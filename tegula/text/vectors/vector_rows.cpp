#include "tegula/text/vectors/vector_rows.h"

// The targets of tegula/cpu/simd/vector_targets.h: AVX2 and AVX-512.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS (1LL << 9)
#define HWY_DISABLED_TARGETS 0xFFLL
#endif
// Loops over arrays of registers must be unrolled in full, or the arrays go to memory.
#if defined(__clang__)
#define TEGULA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TEGULA_UNROLL _Pragma("GCC unroll 8")
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/text/vectors/vector_rows.cpp"
#include "hwy/foreach_target.h"
// foreach_target.h comes first
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::text::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, kRowStep>;
constexpr Tag kTag;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(kTag));

float dot(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::int64_t size) {
  auto one = hn::Zero(kTag), two = hn::Zero(kTag);
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= size; i += 2 * kLanes) {
    one = hn::MulAdd(hn::LoadU(kTag, a + i), hn::LoadU(kTag, b + i), one);
    two = hn::MulAdd(hn::LoadU(kTag, a + i + kLanes), hn::LoadU(kTag, b + i + kLanes), two);
  }
  if (i < size) one = hn::MulAdd(hn::LoadU(kTag, a + i), hn::LoadU(kTag, b + i), one);
  return hn::GetLane(hn::SumOfLanes(kTag, hn::Add(one, two)));
}

void add(float* HWY_RESTRICT to, const float* HWY_RESTRICT row, float factor, std::int64_t size) {
  const auto by = hn::Set(kTag, factor);
  for (std::int64_t i = 0; i < size; i += kLanes)
    hn::StoreU(hn::MulAdd(by, hn::LoadU(kTag, row + i), hn::LoadU(kTag, to + i)), kTag, to + i);
}

template <int kRows>
void dots_of(const float* HWY_RESTRICT a, const float* const* rows, std::int64_t size, float* out) {
  hn::Vec<Tag> sums[kRows];
  TEGULA_UNROLL
  for (int k = 0; k < kRows; ++k) sums[k] = hn::Zero(kTag);
  for (std::int64_t i = 0; i < size; i += kLanes) {
    const auto x = hn::LoadU(kTag, a + i);
    TEGULA_UNROLL
    for (int k = 0; k < kRows; ++k) sums[k] = hn::MulAdd(x, hn::LoadU(kTag, rows[k] + i), sums[k]);
  }
  TEGULA_UNROLL
  for (int k = 0; k < kRows; ++k) out[k] = hn::GetLane(hn::SumOfLanes(kTag, sums[k]));
}

void dots(const float* a, const float* const* rows, std::int64_t count, std::int64_t size, float* out) {
  std::int64_t k = 0;
  for (; k + 6 <= count; k += 6) dots_of<6>(a, rows + k, size, out + k);
  for (; k + 2 <= count; k += 2) dots_of<2>(a, rows + k, size, out + k);
  for (; k < count; ++k) dots_of<1>(a, rows + k, size, out + k);
}

template <int kRows>
void exchange_of(const float* HWY_RESTRICT a, float* const* rows, const float* factor, std::int64_t size, float* HWY_RESTRICT change) {
  hn::Vec<Tag> by[kRows];
  float* own[kRows];
  TEGULA_UNROLL
  for (int k = 0; k < kRows; ++k) {
    by[k] = hn::Set(kTag, factor[k]);
    own[k] = rows[k];
  }
  for (std::int64_t i = 0; i < size; i += kLanes) {
    const auto x = hn::LoadU(kTag, a + i);
    auto sum = hn::LoadU(kTag, change + i);
    TEGULA_UNROLL
    for (int k = 0; k < kRows; ++k) {  // in this order: a row may come twice
      const auto row = hn::LoadU(kTag, own[k] + i);
      sum = hn::MulAdd(by[k], row, sum);
      hn::StoreU(hn::MulAdd(by[k], x, row), kTag, own[k] + i);
    }
    hn::StoreU(sum, kTag, change + i);
  }
}

void exchange(const float* a, float* const* rows, const float* factor, std::int64_t count, std::int64_t size, float* change) {
  std::int64_t k = 0;
  for (; k + 6 <= count; k += 6) exchange_of<6>(a, rows + k, factor + k, size, change);
  for (; k + 2 <= count; k += 2) exchange_of<2>(a, rows + k, factor + k, size, change);
  for (; k < count; ++k) exchange_of<1>(a, rows + k, factor + k, size, change);
}

const RowFunctions* functions_here() {
  static const RowFunctions functions{dot, add, dots, exchange};
  return &functions;
}

}  // namespace
}  // namespace tegula::text::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::text {
HWY_EXPORT(functions_here);
const RowFunctions& row_functions() {
  static const RowFunctions& functions = *HWY_DYNAMIC_DISPATCH(functions_here)();
  return functions;
}
}  // namespace tegula::text
#endif
