// Signals: windows, Fourier transforms as products with cosines and sines, mel filters.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

constexpr std::int64_t kLongest = 8192;  // elements of a transform, whose matrix has the square of that

/// a - b cos(2 pi n / N) + c cos(4 pi n / N); N is the size, or one less.
Results cosine_window(const Call& call, double a, double b, double c) {
  const std::int64_t size = call.integer(0);
  if (size < 0 || size > (1 << 24)) call.refuse("a window of " + std::to_string(size), "0 to 2^24 elements");
  const double period = static_cast<double>(call.flag("periodic", true) ? size : size - 1);
  std::vector<double> values;
  for (std::int64_t n = 0; n < size; ++n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
    values.push_back(a - b * std::cos(angle) + c * std::cos(2 * angle));
  }
  return cast(tensor(values), dtype_of(static_cast<Type>(call.integer("output_datatype", 1))));
}

/// The transform of x (…, n, 1 or 2) along axis -2 in `count` points, of which the first `kept` are made; the sign of the exponent is `sign`.
Tensor transformed(const Tensor& x, std::int64_t count, std::int64_t kept, int sign) {
  const std::int64_t n = x.size(-2);
  std::vector<double> real, imaginary;
  for (std::int64_t k = 0; k < kept; ++k) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k * i % count) / static_cast<double>(count);
      real.push_back(std::cos(angle)), imaginary.push_back(sign * std::sin(angle));
    }
  }
  const DType wide = x.dtype() == f64 ? f64 : f32;
  const Tensor c = cast(tensor(real, {kept, n}), wide), s = cast(tensor(imaginary, {kept, n}), wide);
  const Tensor a = cast(slice(x, -1, {0, 1}), wide);
  const Tensor ca = matmul(c, a), sa = matmul(s, a);
  if (x.size(-1) == 1) return concat({ca, sa}, -1);
  const Tensor b = cast(slice(x, -1, {1, 2}), wide);
  return concat({ca - matmul(s, b), sa + matmul(c, b)}, -1);
}

/// The real signal (…, count, 1) whose first count / 2 + 1 frequencies x (…, count / 2 + 1, 2) are; the others are their conjugates.
Tensor real_signal(const Tensor& x, std::int64_t count) {
  const std::int64_t bins = count / 2 + 1;
  std::vector<double> real, imaginary;
  for (std::int64_t n = 0; n < count; ++n) {
    for (std::int64_t k = 0; k < bins; ++k) {
      const double times = (k == 0 || 2 * k == count ? 1.0 : 2.0) / static_cast<double>(count);
      const double angle = 2 * std::numbers::pi * static_cast<double>(k * n % count) / static_cast<double>(count);
      real.push_back(times * std::cos(angle)), imaginary.push_back(-times * std::sin(angle));
    }
  }
  const DType wide = x.dtype() == f64 ? f64 : f32;
  const Tensor c = cast(tensor(real, {count, bins}), wide), s = cast(tensor(imaginary, {count, bins}), wide);
  return matmul(c, cast(slice(x, -1, {0, 1}), wide)) + matmul(s, cast(slice(x, -1, {1, 2}), wide));
}

/// x along an axis in another length: cut, or with zeros behind.
Tensor with_length(const Tensor& x, int axis, std::int64_t length) {
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  widths[static_cast<std::size_t>(axis)] = {0, length - x.size(axis)};
  return length == x.size(axis) ? x : pad(x, widths);
}

Results fourier(const Call& call) {
  const Tensor given = call[0];
  const int rank = given.rank();
  const int axis = call.axis(call.opset() < 20 ? call.integer("axis", 1) : call.has(2) ? call.integer(2) : -2, rank);
  if (axis == rank - 1 || given.size(-1) < 1 || given.size(-1) > 2)
    call.refuse("shape " + to_string(given.shape()), "(…, 1 or 2), and another axis");
  const bool is_inverse = call.flag("inverse"), is_half = call.flag("onesided"), is_real_back = is_inverse && is_half;
  if (is_real_back && given.size(-1) != 2) call.refuse("real frequencies", "complex ones");
  const std::int64_t count = call.has(1) ? call.integer(1) : is_real_back ? 2 * (given.size(axis) - 1) : given.size(axis);
  if (count < 1 || count > kLongest) call.refuse("a transform of " + std::to_string(count), "1 to " + std::to_string(kLongest));
  const std::int64_t kept = is_half ? count / 2 + 1 : count;
  const Tensor x = movedim(with_length(given, axis, is_real_back ? kept : count), axis, rank - 2);
  if (is_real_back) return cast(movedim(real_signal(x, count), rank - 2, axis), given.dtype());
  Tensor y = transformed(x, count, kept, is_inverse ? 1 : -1);
  if (is_inverse) y = y / static_cast<double>(count);
  return cast(movedim(y, rank - 2, axis), given.dtype());
}

/// Transforms of windows of a signal (B, n, 1 or 2): (B, frames, points, 2).
Results short_time(const Call& call) {
  const Tensor signal = call[0];
  const std::int64_t step = call.integer(1);
  if (signal.rank() != 3 || step < 1)
    call.refuse("shape " + to_string(signal.shape()) + " and a step of " + std::to_string(step), "(B, n, 1 or 2) and at least 1");
  const std::int64_t length = call.has(3) ? call.integer(3) : call.has(2) ? call[2].size(0) : signal.size(1);
  if (length < 1 || length > kLongest) call.refuse("frames of " + std::to_string(length), "1 to " + std::to_string(kLongest));
  Tensor frames = permute(windows(signal, {1}, {length}, {.stride = {step}}), {0, 1, 3, 2});  // (B, frames, length, 1 or 2)
  if (call.has(2)) frames = frames * reshape(with_length(call[2], 0, length), {length, 1});
  const bool is_half = call.flag("onesided", true) && signal.size(2) == 1;
  return cast(transformed(frames, length, is_half ? length / 2 + 1 : length, -1), signal.dtype());
}

/// (bins of a spectrum, mel bins): triangles that are equally wide in mel.
Results mel_matrix(const Call& call) {
  const std::int64_t mels = call.integer(0), points = call.integer(1), rate = call.integer(2);
  const double low = call.number(3), high = call.number(4);
  if (mels < 1 || points < 1 || mels > 4096 || points > (1 << 20) || rate < 1)
    call.refuse("sizes that are no filters", "at least 1 of each");
  const std::int64_t bins = points / 2 + 1;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < mels + 2; ++i) {
    const double at = mel(low) + static_cast<double>(i) * (mel(high) - mel(low)) / static_cast<double>(mels + 2);
    edges.push_back(static_cast<std::int64_t>(
        std::floor(700 * (std::pow(10, at / 2595) - 1) * static_cast<double>(points + 1) / static_cast<double>(rate))));
  }
  std::vector<double> out(static_cast<std::size_t>(bins * mels), 0);
  const auto set = [&](std::int64_t bin, std::int64_t m, double value) {
    if (bin >= 0 && bin < bins) out[static_cast<std::size_t>(bin * mels + m)] = value;
  };
  for (std::int64_t m = 0; m < mels; ++m) {
    const auto i = static_cast<std::size_t>(m);
    const std::int64_t begin = edges[i], middle = edges[i + 1], end = edges[i + 2];
    if (middle == begin) set(middle, m, 1);
    for (std::int64_t k = begin; k <= middle && middle > begin; ++k)
      set(k, m, static_cast<double>(k - begin) / static_cast<double>(middle - begin));
    for (std::int64_t k = middle; k < end && end > middle; ++k) set(k, m, static_cast<double>(end - k) / static_cast<double>(end - middle));
  }
  return cast(tensor(out, {bins, mels}), dtype_of(static_cast<Type>(call.integer("output_datatype", 1))));
}

constexpr std::string_view kWindow = "output_datatype periodic";

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"HannWindow", [](Call& c) -> Results { return cosine_window(c, 0.5, 0.5, 0); }, kWindow, looked({0})},
    {"HammingWindow", [](Call& c) -> Results { return cosine_window(c, 25.0 / 46, 21.0 / 46, 0); }, kWindow, looked({0})},
    {"BlackmanWindow", [](Call& c) -> Results { return cosine_window(c, 0.42, 0.5, 0.08); }, kWindow, looked({0})},
    {"DFT", [](Call& c) -> Results { return fourier(c); }, "axis inverse onesided", looked({1, 2})},
    {"STFT", [](Call& c) -> Results { return short_time(c); }, "onesided", looked({1, 3})},
    {"MelWeightMatrix", [](Call& c) -> Results { return mel_matrix(c); }, "output_datatype", looked({0, 1, 2, 3, 4})},
};
// clang-format on

}  // namespace

Operators signal_operators() { return kOperators; }

}  // namespace tegula::onnx
