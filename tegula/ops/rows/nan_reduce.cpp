#include "tegula/ops/rows/nan_reduce.h"

#include <cmath>

#include "tegula/graph/frame.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

/// The argument of a reduction that ignores NaN. Halves are computed in f32.
struct Numbers {
  Tensor x;        // in the type that is computed in
  Tensor missing;  // bool
  Tensor present;  // x with 0 in the place of NaN, which no derivative of any order then meets
  DType dtype;     // dtype of the result

  Numbers(std::string_view op, const Arg& arg) : x(arg.tensor(op)), dtype(x.dtype()) {
    if (!is_float(dtype))
      ops::refuse(op, "dtype " + std::string(name(dtype)), "a float type", arg.loc, "integers have no NaN: use sum, mean …");
    missing = isnan(x);
    if (is_half(dtype)) x = cast(x, f32);
    present = where(missing, 0.0, x);
  }

  Tensor total(const Axes& axes, Keep keep) const { return sum(present, axes, keep); }
  Tensor count(const Axes& axes, Keep keep) const { return cast(sum(logical_not(missing), axes, keep), x.dtype()); }
  Tensor mean(const Axes& axes, Keep keep) const { return total(axes, keep) / count(axes, keep); }
  Tensor variance(const Axes& axes, const VarianceOptions& options) const {
    const Tensor n = count(axes, options.keep);
    const Tensor centred = where(missing, 0.0, present - mean(axes, Keep::Yes));
    return where(n == 0, static_cast<double>(NAN), sum(square(centred), axes, options.keep) / maximum(n - options.correction, 0.0));
  }
  Tensor finish(const Tensor& y) const { return cast(y, dtype); }
};

}  // namespace

Tensor nansum(Arg x, const Axes& axes, Keep keep) {
  const In frame("nansum", x.loc);
  const Numbers numbers("nansum", x);
  return numbers.finish(numbers.total(axes, keep));
}

Tensor nanmean(Arg x, const Axes& axes, Keep keep) {
  const In frame("nanmean", x.loc);
  const Numbers numbers("nanmean", x);
  return numbers.finish(numbers.mean(axes, keep));
}

Tensor nanvar(Arg x, const Axes& axes, const VarianceOptions& options) {
  const In frame("nanvar", x.loc);
  const Numbers numbers("nanvar", x);
  return numbers.finish(numbers.variance(axes, options));
}

Tensor nanstd(Arg x, const Axes& axes, const VarianceOptions& options) {
  const In frame("nanstd", x.loc);
  const Numbers numbers("nanstd", x);
  const Tensor variance = numbers.variance(axes, options), none = variance == 0;
  return numbers.finish(where(none, 0.0, sqrt(where(none, 1.0, variance))));
}

Tensor nanmedian(Arg x, int axis, Keep keep) {
  const In frame("nanmedian", x.loc);
  const Numbers numbers("nanmedian", x);
  if (numbers.x.rank() == 0) return numbers.finish(numbers.x);
  const Tensor sorted = sort(numbers.x, axis).values;  // NaN behind all numbers
  const Tensor n = sum(logical_not(numbers.missing), axis, Keep::Yes);
  const Tensor middle = gather(sorted, axis, maximum(floor_divide(n - 1, 2), 0));  // NaN where there is no number
  return numbers.finish(keep == Keep::Yes ? middle : squeeze(middle, axis));
}

std::vector<OpCase> nan_reduce_cases() {
  std::vector<OpCase> cases;
  using Reduce = std::function<Tensor(const Tensor&, const Axes&)>;
  // Numbers above 1 are the missing ones: a quarter, and of (1, 1) perhaps all.
  const auto add = [&](const std::string& op, bool second, const Reduce& f) {
    for (const Axes& axes : {Axes(), Axes(1), Axes{0, -1}}) {
      cases.push_back({.op = op,
                       .function = [=](const auto& x) { return f(where(x[0] > 1.0, static_cast<double>(NAN), x[0]), axes); },
                       .inputs = {{.shape = {5, 9, 7}, .kinks = {1}}},
                       .dtypes = kFloats,
                       .second = second,
                       .tolerance = 64});
    }
  };
  add("nansum", true, [](const Tensor& x, const Axes& axes) { return nansum(x, axes); });
  add("nanmean", true, [](const Tensor& x, const Axes& axes) { return nanmean(x, axes, Keep::Yes); });
  add("nanvar", true, [](const Tensor& x, const Axes& axes) { return nanvar(x, axes); });
  add("nanstd", true, [](const Tensor& x, const Axes& axes) { return nanstd(x, axes, {.correction = 0}); });
  cases.push_back({.op = "nanmedian",
                   .function = [](const auto& x) { return nanmedian(where(x[0] > 50.0, static_cast<double>(NAN), x[0])); },
                   .inputs = {{{7, 33}, -100, 100}},
                   .dtypes = kFloats,
                   .more_shapes = {{{41}}},
                   .second = false});
  return cases;
}

}  // namespace tegula
