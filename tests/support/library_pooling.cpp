#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/library.h"

namespace tegula::test {

using runtime::Pooling;
using runtime::PoolingKind;

namespace {

/// An element of the input and its place in the window.
struct Place {
  Dims index;
  std::int64_t tap;
};

/// Calls visit(output index, the places inside the window, in row-major order).
template <class F>
void for_each_window(const Pooling& d, const Tensor& y, F&& visit) {
  const int spatial = d.window.rank();
  const std::int64_t area = numel(d.window);
  y.for_each([&](const Dims& o) {
    std::vector<Place> taps;
    for (std::int64_t tap = 0; tap < area; ++tap) {
      Dims x = o;
      std::int64_t rest = tap;
      bool inside = true;
      for (int i = spatial - 1; i >= 0; --i) {
        x[i + 2] = o[i + 2] * d.stride[i] - d.pad_low[i] + rest % d.window[i] * d.dilation[i];
        rest /= d.window[i];
        inside = inside && x[i + 2] >= 0 && x[i + 2] < d.input.layout.shape[i + 2];
      }
      if (inside) taps.push_back({x, tap});
    }
    visit(o, taps);
  });
}

}  // namespace

void expect_pooling(runtime::Device& device, const Pooling& d, int threads, double nan_share) {
  Tensor x(d.dtype(), d.input.layout), y(d.dtype(), d.output.layout), result(d.dtype(), d.backward ? d.input.layout : d.output.layout),
      taps(u8, d.taps_layout());
  x.randomize(), y.randomize();
  if (nan_share > 0) {
    x.for_each([&](const Dims& i) {
      if (pick(0, 99) < 100 * nan_share) x.set(i, std::numeric_limits<double>::quiet_NaN());
      else x.set(i, pick(-2, 2));  // many ties
    });
  }
  Tensor expected(f64, Layout::dense(result.layout().shape));
  expected.for_each([&](const Dims& i) { expected.set(i, 0); });
  Tensor expected_taps(f64, Layout::dense(d.output.layout.shape));
  for_each_window(d, y, [&](const Dims& o, const std::vector<Place>& places) {
    if (d.kind == PoolingKind::Max) {
      Place best{o, Pooling::kNoTap};
      double value = -std::numeric_limits<double>::infinity();
      bool found = false;
      for (const Place& place : places) {
        if (found && !std::isnan(x(place.index)) && x(place.index) <= value) continue;
        if (found && std::isnan(value)) continue;
        found = true, best = place, value = x(place.index);
      }
      if (!d.backward) expected.set(o, value);
      else if (found) expected.set(best.index, expected(best.index) + y(o));
      expected_taps.set(o, static_cast<double>(best.tap));
      if (d.backward && d.has_taps()) taps.set(o, static_cast<double>(best.tap));
    } else {
      const double divisor = static_cast<double>(d.kind == PoolingKind::AverageWithPadding ? static_cast<std::size_t>(numel(d.window))
                                                                                           : std::max<std::size_t>(1, places.size()));
      double sum = 0;
      for (const Place& place : places) {
        sum += x(place.index);
        if (d.backward) expected.set(place.index, expected(place.index) + y(o) / divisor);
      }
      if (!d.backward) expected.set(o, sum / divisor);
    }
  });
  std::vector<Tensor*> tensors;
  if (!d.backward) tensors = {&x, &result};
  else if (d.kind == PoolingKind::Max) tensors = {d.has_taps() ? &taps : &x, &y, &result};
  else tensors = {&y, &result};
  if (!d.backward && d.has_taps()) tensors.push_back(&taps);
  const auto call = device.make(d);
  ASSERT_TRUE(run_guarded(device, *call, tensors, threads));
  EXPECT_TRUE(result.untouched_outside());
  int wrong = 0;
  result.for_each([&](const Dims& i) {
    const double got = result(i), want = expected(i);
    const bool same = std::isnan(want) ? std::isnan(got) : got == want || std::abs(got - want) <= tolerance(d.dtype(), 9);
    wrong += !same;
  });
  if (!d.backward && d.wants_taps) {
    EXPECT_TRUE(taps.untouched_outside());
    taps.for_each([&](const Dims& i) { wrong += taps(i) != expected_taps(i); });
  }
  EXPECT_EQ(wrong, 0) << call->describe() << " window " << to_string(d.window) << " stride " << to_string(d.stride) << " dilation "
                      << to_string(d.dilation) << " pad " << to_string(d.pad_low) << " strides " << to_string(d.input.layout.strides);
}

Pooling random_pooling(DType dtype) {
  Pooling d{.kind = static_cast<PoolingKind>(pick(0, 2)), .backward = pick(0, 1) == 1};
  const int spatial = pick(1, 3);
  const Memory order = pick(0, 1) ? Memory::ChannelsLast : Memory::ChannelsFirst;
  Shape in{pick(1, 3), pick(0, 4) ? pick(1, 20) : pick(60, 140)}, out = in;
  for (int i = 0; i < spatial; ++i) {
    d.window.push_back(pick(1, 4)), d.stride.push_back(pick(1, 3)), d.dilation.push_back(pick(0, 2) ? 1 : 2);
    const int reach = static_cast<int>(d.dilation[i] * (d.window[i] - 1)) + 1;
    d.pad_low.push_back(pick(0, reach / 2)), d.pad_high.push_back(pick(0, reach / 2));
    in.push_back(reach + pick(0, spatial == 1 ? 90 : 6));
    out.push_back((in[i + 2] + d.pad_low[i] + d.pad_high[i] - reach) / d.stride[i] + 1);
  }
  d.input = {dtype, activations(in, order, pick(0, 3) ? 0 : pick(1, 9))},
  d.output = {dtype, activations(out, order, pick(0, 3) ? 0 : pick(1, 9))};
  d.wants_taps = d.has_taps() && !d.backward && pick(0, 1) == 1;
  if (pick(0, 3) == 0) d.taps.layout = activations(out, order == Memory::ChannelsLast ? Memory::ChannelsFirst : Memory::ChannelsLast);
  return d;
}

}  // namespace tegula::test
