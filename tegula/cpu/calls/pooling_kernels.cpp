#include "tegula/cpu/calls/pooling_kernels.h"

#include <algorithm>

#include "tegula/cpu/simd/vector_targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/calls/pooling_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tegula/cpu/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {  // other files use some of these names too
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using I = hn::RebindToSigned<D>;

/// Loads up to a vector of lanes, `step` elements apart. Reads nothing behind the last of them.
HWY_INLINE V load(const float* from, std::int64_t lanes, std::int64_t step) {
  const D d;
  const auto all = static_cast<std::int64_t>(hn::Lanes(d));
  if (step == 1) return lanes >= all ? hn::LoadU(d, from) : hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(lanes)), d, from);
  const std::int64_t elements = 2 * std::min(lanes, all) - 1;
  const V lower = elements >= all ? hn::LoadU(d, from) : hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(elements)), d, from);
  const V upper = elements <= all ? hn::Zero(d) : hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(elements - all)), d, from + all);
#if HWY_TARGET == HWY_SCALAR
  return lower;
#else
  return hn::ConcatEven(d, upper, lower);
#endif
}
HWY_INLINE void store(V x, std::int64_t lanes, float* to) {
  const D d;
  if (lanes >= static_cast<std::int64_t>(hn::Lanes(d))) hn::StoreU(x, d, to);
  else hn::BlendedStore(x, hn::FirstN(d, static_cast<std::size_t>(lanes)), d, to);
}

struct Max {
  V best;
  HWY_INLINE void first(V x, std::int32_t) { best = x; }
  HWY_INLINE void next(V x, std::int32_t) { best = hn::IfThenElse(hn::Or(hn::Le(x, best), hn::IsNaN(best)), best, x); }
};
struct MaxAndTap {
  V best;
  hn::Vec<I> tap;
  HWY_INLINE void first(V x, std::int32_t number) { best = x, tap = hn::Set(I(), number); }
  HWY_INLINE void next(V x, std::int32_t number) {
    const auto stays = hn::Or(hn::Le(x, best), hn::IsNaN(best));
    best = hn::IfThenElse(stays, best, x);
    tap = hn::IfThenElse(hn::RebindMask(I(), stays), tap, hn::Set(I(), number));
  }
};
struct Sum {
  V sum;
  HWY_INLINE void first(V x, std::int32_t) { sum = hn::Add(hn::Zero(D()), x); }
  HWY_INLINE void next(V x, std::int32_t) { sum = hn::Add(sum, x); }
};

/// finish(state, lane, lanes, run) for each NV vectors of windows.
template <class State, int NV, class Finish>
HWY_INLINE void each_window(const WindowLanes& w, std::int64_t run, std::int64_t lane, Finish&& finish) {
  const auto all = static_cast<std::int64_t>(hn::Lanes(D()));
  State state[NV];
  const float* const begin = w.from + run * w.from_run + lane * w.step;
  bool is_first = true;
  for (std::int64_t i = 0; i < w.taps[0]; ++i) {
    for (std::int64_t j = 0; j < w.taps[1]; ++j) {
      const float* from = begin + i * w.distance[0] + j * w.distance[1];
      std::int32_t number = w.first_number + static_cast<std::int32_t>(i) * w.number[0] + static_cast<std::int32_t>(j) * w.number[1];
      for (std::int64_t k = 0; k < w.taps[2]; ++k, from += w.distance[2], number += w.number[2]) {
        if (is_first) {
          TEGULA_UNROLL for (int v = 0; v < NV; ++v) state[v].first(load(from + v * all * w.step, w.lanes - lane - v * all, w.step),
                                                                    number);
          is_first = false;
        } else {
          TEGULA_UNROLL for (int v = 0; v < NV; ++v) state[v].next(load(from + v * all * w.step, w.lanes - lane - v * all, w.step), number);
        }
      }
    }
  }
  TEGULA_UNROLL for (int v = 0; v < NV; ++v) finish(state[v], lane + v * all, w.lanes - lane - v * all, run);
}

template <class State, class Finish>
HWY_INLINE void all_windows(const WindowLanes& w, Finish&& finish) {
  const auto all = static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t run = 0; run < w.runs; ++run) {
    for (std::int64_t lane = 0; lane < w.lanes;) {
      if (w.lanes - lane > 3 * all) each_window<State, 4>(w, run, lane, finish), lane += 4 * all;
      else if (w.lanes - lane > all) each_window<State, 2>(w, run, lane, finish), lane += 2 * all;
      else each_window<State, 1>(w, run, lane, finish), lane += all;
    }
  }
}

void max_windows(const WindowLanes& w, float* to) {
  all_windows<Max>(w, [&](const Max& state, std::int64_t lane, std::int64_t lanes, std::int64_t run)
                          HWY_ATTR { store(state.best, lanes, to + run * w.to_run + lane); });
}
void mean_windows(const WindowLanes& w, float divisor, float* to) {
  const V by = hn::Set(D(), divisor);
  all_windows<Sum>(w, [&](const Sum& state, std::int64_t lane, std::int64_t lanes, std::int64_t run)
                          HWY_ATTR { store(hn::Div(state.sum, by), lanes, to + run * w.to_run + lane); });
}
void max_and_taps(const WindowLanes& w, float* to, std::uint8_t* taps, std::int64_t taps_run) {
  const auto all = static_cast<std::int64_t>(hn::Lanes(D()));
  all_windows<MaxAndTap>(w, [&](const MaxAndTap& state, std::int64_t lane, std::int64_t lanes, std::int64_t run) HWY_ATTR {
    if (to) store(state.best, lanes, to + run * w.to_run + lane);
    HWY_ALIGN std::int32_t numbers[HWY_MAX_BYTES / 4];
    hn::Store(state.tap, I(), numbers);
    std::uint8_t* const at = taps + run * taps_run + lane;
    for (std::int64_t i = 0; i < std::min(lanes, all); ++i) at[i] = static_cast<std::uint8_t>(numbers[i]);
  });
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
namespace {
HWY_EXPORT(max_windows);
HWY_EXPORT(mean_windows);
HWY_EXPORT(max_and_taps);
}  // namespace

void max_of_windows(const WindowLanes& windows, float* to) { HWY_DYNAMIC_DISPATCH(max_windows)(windows, to); }
void mean_of_windows(const WindowLanes& windows, float divisor, float* to) { HWY_DYNAMIC_DISPATCH(mean_windows)(windows, divisor, to); }
void max_and_taps_of_windows(const WindowLanes& windows, float* to, std::uint8_t* taps, std::int64_t taps_run) {
  HWY_DYNAMIC_DISPATCH(max_and_taps)(windows, to, taps, taps_run);
}

}  // namespace tegula::host
#endif
