// Signals: windows, Fourier transforms, mel filters.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/ops/signal/fft.h"

namespace tegula::onnx {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 28;  // elements of a transform

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

/// x along an axis in another length: cut, or with zeros behind.
Tensor with_length(const Tensor& x, int axis, std::int64_t length) {
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  widths[static_cast<std::size_t>(axis)] = {0, length - x.size(axis)};
  return length == x.size(axis) ? x : pad(x, widths);
}

Shape without_last(Shape shape) {
  shape.erase(shape.rank() - 1);
  return shape;
}

enum class Direction : std::uint8_t { Forward, Inverse };

/// The transform of x (…, n, 1 or 2) along axis -2, of which the first `kept` numbers are made: (…, kept, 2), in f64: where
/// numbers cancel, f32 leaves more than the suite takes for 0.
Tensor transformed(const Tensor& given, std::int64_t kept, Direction direction) {
  const Tensor x = cast(given, f64);
  const std::int64_t n = x.size(-2);
  if (direction == Direction::Forward && x.size(-1) == 1 && kept == n / 2 + 1) return rfft(reshape(x, without_last(x.shape())));
  const Tensor pairs = with_length(x, x.rank() - 1, 2), y = direction == Direction::Forward ? fft(pairs) : ifft(pairs);
  return kept == n ? y : slice(y, -2, {0, kept});
}

/// The real signal (…, count, 1) whose first count / 2 + 1 frequencies x (…, count / 2 + 1, 2) are; the others are their conjugates.
Tensor real_signal(const Tensor& x, std::int64_t count) { return unsqueeze(irfft(cast(x, f64), count), -1); }

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
  const Tensor y = transformed(x, kept, is_inverse ? Direction::Inverse : Direction::Forward);
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
  return cast(transformed(frames, is_half ? length / 2 + 1 : length, Direction::Forward), signal.dtype());
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
