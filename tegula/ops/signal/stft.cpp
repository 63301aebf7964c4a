#include "tegula/ops/signal/stft.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/ops/signal/fft.h"

namespace tegula {
namespace {

/// a - b cos(2π k / n) + c cos(4π k / n).
Tensor cosines(std::string_view op, std::int64_t n, DType dtype, Period period, const Line& where, double a, double b, double c) {
  const In frame(op, where);
  if (n < 1 || !is_float(dtype))
    ops::refuse(op, std::to_string(n) + " of " + std::string(name(dtype)), "at least 1, of a float dtype", where);
  if (n == 1) return ones({1}, dtype);
  const double parts = static_cast<double>(period == Period::Periodic ? n : n - 1);
  std::vector<double> values;  // numbers, which a step that is used again does not compute again
  for (std::int64_t k = 0; k < n; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / parts;
    values.push_back(a - b * std::cos(angle) + c * std::cos(2 * angle));
  }
  return cast(tensor(values, {n}), dtype);
}

struct Pieces {
  std::int64_t size = 0, hop = 0, reach = 0;
  Tensor window;
};
Pieces pieces_of(std::string_view op, const StftOptions& options, DType dtype, const Line& where) {
  const Pieces out{options.size, options.hop > 0 ? options.hop : options.size / 4, options.center ? options.size / 2 : 0, {}};
  if (out.size < 1 || out.hop < 1)
    ops::refuse(op, "pieces of " + std::to_string(out.size) + " every " + std::to_string(out.hop), "at least 1", where);
  Pieces full = out;
  full.window = options.window.defined() ? cast(options.window, dtype) : hann_window(out.size, dtype);
  if (full.window.shape() != Shape{out.size})
    ops::refuse(op, "a window of shape " + to_string(full.window.shape()), "(" + std::to_string(out.size) + ")", where);
  return full;
}

}  // namespace

Tensor hann_window(std::int64_t n, DType dtype, Period period, Line where) {
  return cosines("hann_window", n, dtype, period, where, 0.5, 0.5, 0);
}
Tensor hamming_window(std::int64_t n, DType dtype, Period period, Line where) {
  return cosines("hamming_window", n, dtype, period, where, 0.54, 0.46, 0);
}
Tensor blackman_window(std::int64_t n, DType dtype, Period period, Line where) {
  return cosines("blackman_window", n, dtype, period, where, 0.42, 0.5, 0.08);
}

Tensor stft(Arg of_x, const StftOptions& options) {
  const In frame("stft", of_x.loc);
  Tensor x = of_x.tensor("stft");
  if (x.rank() < 1 || !is_float(x.dtype()))
    ops::refuse("stft", std::string(name(x.dtype())) + " of shape " + to_string(x.shape()), "(…, n) of a float dtype", of_x.loc);
  const Pieces p = pieces_of("stft", options, x.dtype(), of_x.loc);
  if (p.reach > 0) {
    std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
    widths.back() = {p.reach, p.reach};
    x = pad(x, widths, {.mode = PadMode::Reflect});
  }
  if (x.size(-1) < p.size)
    ops::refuse("stft", "a signal of " + std::to_string(x.size(-1)) + " and pieces of " + std::to_string(p.size),
                "a signal as long as a piece", of_x.loc);
  const Tensor spectra = rfft(windows(x, {x.rank() - 1}, {p.size}, {.stride = {p.hop}}) * p.window);
  return transpose(spectra, -3, -2);
}

Tensor istft(Arg of_x, std::int64_t length, const StftOptions& options) {
  const In frame("istft", of_x.loc);
  const Tensor x = of_x.tensor("istft");
  const Pieces p = pieces_of("istft", options, x.dtype(), of_x.loc);
  if (x.rank() < 3 || x.size(-1) != 2 || x.size(-3) != p.size / 2 + 1 || x.size(-2) < 1)
    ops::refuse("istft", "shape " + to_string(x.shape()), "(…, " + std::to_string(p.size / 2 + 1) + ", pieces, 2)", of_x.loc);
  const Tensor pieces = irfft(transpose(x, -3, -2), p.size) * p.window;  // (…, pieces, size)
  const std::int64_t count = pieces.size(-2), all = (count - 1) * p.hop + p.size;
  if (length < 1 || p.reach + length > all)
    ops::refuse("istft", std::to_string(length) + " numbers", "at most " + std::to_string(all - p.reach) + ", which the pieces cover",
                of_x.loc);
  const auto added = [&](const Tensor& t) {
    return slice(ops::overlaid(transpose(t), t.rank() - 2, p.hop, 1, all, of_x.loc), -1, {p.reach, p.reach + length});
  };
  const Tensor weights = added(expand(square(p.window), {count, p.size}));
  return added(pieces) / weights;
}

}  // namespace tegula
