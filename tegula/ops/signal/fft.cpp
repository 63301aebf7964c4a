#include "tegula/ops/signal/fft.h"

#include <cmath>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/ops/signal/fourier_op.h"

namespace tegula {
namespace {

using runtime::Spectrum;

constexpr int kAtOnce = 3;  // axes of a call

struct Given {
  Tensor x;
  DType dtype = DType::f32;
  Dims axes;  // of the numbers
  int rank = 0;  // of them
};

Given given(std::string_view op, const Arg& of_x, const FourierOptions& options, bool complex) {
  const Tensor x = of_x.tensor(op);
  if (!is_float(x.dtype())) ops::refuse(op, std::string(name(x.dtype())), "a float dtype", of_x.loc);
  if (complex && (x.rank() < 2 || x.size(-1) != 2))
    ops::refuse(op, "shape " + to_string(x.shape()), "pairs of real and imaginary parts, (…, n, 2)", of_x.loc,
                "complex_of(x, zeros_like(x)) are those of a real tensor; rfft takes that itself");
  Shape numbers = x.shape();
  if (complex) numbers.erase(numbers.rank() - 1);
  if (options.axes.list().empty() || numbers.rank() == 0)
    ops::refuse(op, "no axes of shape " + to_string(x.shape()), "at least one", of_x.loc);
  Given out{x.dtype() == f64 ? x : graph::cast(x, f32, of_x.loc), x.dtype(), {}, numbers.rank()};
  for (const std::int64_t axis : options.axes.list()) {  // in the order that was given: the last one is halved
    const int found = ops::axis_of(op, axis, numbers, of_x.loc);
    for (const std::int64_t other : out.axes)
      if (other == found) ops::refuse(op, "axis " + std::to_string(axis) + " twice", "each once", of_x.loc);
    out.axes.push_back(found);
    if (numbers[found] == 0) ops::refuse(op, "shape " + to_string(x.shape()), "at least one number along each axis", of_x.loc);
  }
  return out;
}

/// The order in which these axes are the last ones (of `rank` numbers, and perhaps pairs behind them).
Dims last_order(int rank, const Dims& axes, bool pairs) {
  Dims out;
  for (int i = 0; i < rank; ++i) {
    bool named = false;
    for (const std::int64_t axis : axes) named = named || axis == i;
    if (!named) out.push_back(i);
  }
  for (const std::int64_t axis : axes) out.push_back(axis);
  if (pairs) out.push_back(rank);
  return out;
}

Dims inverse_order(const Dims& order) {
  Dims out = order;
  for (int i = 0; i < order.rank(); ++i) out[static_cast<int>(order[i])] = i;
  return out;
}

bool is_in_place(const Dims& order) {
  for (int i = 0; i < order.rank(); ++i)
    if (order[i] != i) return false;
  return true;
}
Tensor ordered(const Tensor& x, const Dims& order) { return is_in_place(order) ? x : permute(x, order); }

/// The complex transform of these axes, some at a time.
Tensor complex(Tensor x, int rank, const Dims& axes, bool inverse, const Line& where) {
  for (int first = 0; first < axes.rank(); first += kAtOnce) {
    Dims some;
    for (int i = first; i < std::min(first + kAtOnce, axes.rank()); ++i) some.push_back(axes[i]);
    const Dims order = last_order(rank, some, true);
    Dims sizes;
    for (const std::int64_t axis : some) sizes.push_back(x.shape()[static_cast<int>(axis)]);
    x = ordered(ops::transformed(ordered(x, order), Spectrum::Complex, inverse, sizes, where), inverse_order(order));
  }
  return x;
}

double divisor(FourierNorm norm, bool inverse, double count) {
  if (norm == FourierNorm::Ortho) return std::sqrt(count);
  return (norm == FourierNorm::Backward) == inverse ? count : 1;
}
Tensor divided(const Tensor& x, double by) { return by == 1 ? x : x / by; }

double count_of(const Shape& shape, const Dims& axes) {
  double out = 1;
  for (const std::int64_t axis : axes) out *= static_cast<double>(shape[static_cast<int>(axis)]);
  return out;
}

Tensor complex_transform(std::string_view op, const Arg& of_x, const FourierOptions& options, bool inverse) {
  const In frame(op, of_x.loc);
  const Given g = given(op, of_x, options, true);
  const double count = count_of(g.x.shape(), g.axes);
  return graph::cast(divided(complex(g.x, g.rank, g.axes, inverse, of_x.loc), divisor(options.norm, inverse, count)), g.dtype, of_x.loc);
}

/// The axis that is halved, and those in front of it.
std::pair<Dims, Dims> last_and_rest(const Dims& axes) {
  Dims rest;
  for (int i = 0; i + 1 < axes.rank(); ++i) rest.push_back(axes[i]);
  return {Dims{axes.back()}, rest};
}

/// The axes that a call takes at once, of which the last one is halved, and those in front of them.
std::pair<Dims, Dims> together_and_rest(const Dims& axes) {
  Dims together, rest;
  for (int i = 0; i < axes.rank(); ++i) (i + kAtOnce < axes.rank() ? rest : together).push_back(axes[i]);
  return {together, rest};
}

}  // namespace

Tensor fft(Arg x, const FourierOptions& options) { return complex_transform("fft", x, options, false); }
Tensor ifft(Arg x, const FourierOptions& options) { return complex_transform("ifft", x, options, true); }

Tensor rfft(Arg of_x, const FourierOptions& options) {
  const In frame("rfft", of_x.loc);
  const Given g = given("rfft", of_x, options, false);
  const auto [together, rest] = together_and_rest(g.axes);
  const Dims order = last_order(g.rank, together, false);
  Dims sizes;
  for (const std::int64_t axis : together) sizes.push_back(g.x.shape()[static_cast<int>(axis)]);
  const Tensor halves = ops::transformed(ordered(g.x, order), Spectrum::FromReal, false, sizes, of_x.loc);
  Dims back = inverse_order(order);
  back.push_back(g.rank);
  const Tensor y = complex(ordered(halves, back), g.rank, rest, false, of_x.loc);
  return graph::cast(divided(y, divisor(options.norm, false, count_of(g.x.shape(), g.axes))), g.dtype, of_x.loc);
}

Tensor irfft(Arg of_x, std::optional<std::int64_t> size, const FourierOptions& options) {
  const In frame("irfft", of_x.loc);
  const Given g = given("irfft", of_x, options, true);
  const auto [last, rest] = last_and_rest(g.axes);
  const int axis = static_cast<int>(last[0]);
  const std::int64_t half = g.x.shape()[axis], n = size.value_or(2 * (half - 1));
  if (n < 1 || n / 2 + 1 != half)
    ops::refuse("irfft", std::to_string(half) + " numbers along the last axis, and size " + std::to_string(n), "size/2 + 1 numbers",
                of_x.loc);
  const Tensor x = complex(g.x, g.rank, rest, true, of_x.loc);
  const Tensor y = ops::transformed(ordered(x, last_order(g.rank, last, true)), Spectrum::ToReal, true, {n}, of_x.loc);
  const Tensor out = ordered(y, inverse_order(last_order(g.rank, last, false)));
  return graph::cast(divided(out, divisor(options.norm, true, count_of(g.x.shape(), rest) * static_cast<double>(n))), g.dtype, of_x.loc);
}

Tensor complex_of(Arg re, Arg im) {
  const In frame("complex_of", re.loc);
  return stack({re.tensor("complex_of"), im.tensor("complex_of")}, -1);
}
Tensor real_part(Arg x) {
  const In frame("real_part", x.loc);
  return select(x, -1, 0);
}
Tensor imaginary_part(Arg x) {
  const In frame("imaginary_part", x.loc);
  return select(x, -1, 1);
}
Tensor complex_abs(Arg x) {
  const In frame("complex_abs", x.loc);
  return hypot(select(x, -1, 0), select(x, -1, 1));
}
Tensor complex_angle(Arg x) {
  const In frame("complex_angle", x.loc);
  return atan2(select(x, -1, 1), select(x, -1, 0));
}
Tensor complex_multiply(Arg a, Arg b) {
  const In frame("complex_multiply", a.loc);
  const Tensor ar = select(a, -1, 0), ai = select(a, -1, 1), br = select(b, -1, 0), bi = select(b, -1, 1);
  return complex_of(ar * br - ai * bi, ar * bi + ai * br);
}

Tensor convolve(Arg of_a, Arg of_b) {
  const In frame("convolve", of_a.loc);
  const Tensor a = of_a.tensor("convolve"), b = of_b.tensor("convolve");
  if (a.rank() < 1 || b.rank() < 1 || a.size(-1) == 0 || b.size(-1) == 0)
    ops::refuse("convolve", "shapes " + to_string(a.shape()) + " and " + to_string(b.shape()), "(…, n) and (…, m) with numbers", of_a.loc);
  const std::int64_t n = a.size(-1) + b.size(-1) - 1;
  std::int64_t size = 1;  // one that transforms well
  while (size < n) size *= 2;
  if (size / 4 * 3 >= n) size = size / 4 * 3;
  const auto spectrum = [&](const Tensor& x) {
    std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
    widths.back().high = size - x.size(-1);
    return rfft(pad(x, widths));
  };
  return slice(irfft(complex_multiply(spectrum(a), spectrum(b)), size), -1, {0, n});
}

}  // namespace tegula
