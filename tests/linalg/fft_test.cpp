// Discrete Fourier transforms: the sums as they are written, inverses, axes, norms, gradients, pieces of signals.

#include <complex>
#include <numbers>

#include "tests/linalg/support.h"

namespace tegula {
namespace {

using test::apart;
using test::draw;
using test::most;
using In = std::vector<Tensor>;

Tensor weighed(const Tensor& x) { return sum(x * sin(1.0 + 0.7 * cast(reshape(arange(x.numel()), x.shape()), f64))); }

/// The sums of the transform's definition.
std::vector<double> sums(const std::vector<double>& x, int sign) {
  const std::size_t n = x.size() / 2;
  std::vector<double> out;
  for (std::size_t k = 0; k < n; ++k) {
    std::complex<double> sum = 0;
    for (std::size_t j = 0; j < n; ++j)
      sum += std::complex<double>(x[2 * j], x[2 * j + 1]) *
             std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n));
    out.push_back(sum.real()), out.push_back(sum.imag());
  }
  return out;
}

TEST(Fourier, SumsAreThoseOfTheFormulaForEverySize) {
  for (std::int64_t n = 1; n <= 130; ++n) {
    const Tensor x = draw({n, 2});
    const std::vector<double> values = x.to_host<double>();
    EXPECT_LT(apart(fft(x), tensor(sums(values, -1), {n, 2})), 1e-12) << n;
    EXPECT_LT(apart(ifft(x, {.norm = FourierNorm::Forward}), tensor(sums(values, 1), {n, 2})), 1e-12) << n;
  }
}

TEST(Fourier, LongAndPrimeSizesComeBack) {
  for (const DType dtype : {f64, f32})
    for (const std::int64_t n : {251, 1009, 1024, 1155, 4096, 10007, 46656}) {
      const Tensor x = draw({2, n, 2}, dtype);
      const double limit = dtype == f64 ? 1e-11 : 2e-3;
      EXPECT_LT(apart(ifft(fft(x)), x), limit) << n;
      EXPECT_NEAR(sum(square(fft(x, {.norm = FourierNorm::Ortho}))).item<double>() / sum(square(x)).item<double>(), 1, limit) << n;
      const Tensor real = draw({3, n}, dtype);
      EXPECT_LT(apart(irfft(rfft(real), n), real), limit) << n;
    }
}

TEST(Fourier, RealNumbersHaveHalfOfTheSpectrum) {
  for (const std::int64_t n : {1, 2, 3, 4, 7, 8, 30, 31, 37, 64})
    for (const std::int64_t rows : {1, 2, 5, 33}) {
      const Tensor x = draw({rows, n}), half = rfft(x), all = fft(complex_of(x, zeros_like(x)));
      EXPECT_EQ(half.shape(), (Shape{rows, n / 2 + 1, 2}));
      EXPECT_LT(apart(half, slice(all, 1, {0, n / 2 + 1})), 1e-12) << n;
      EXPECT_LT(apart(irfft(half, n), x), 1e-13) << n;
    }
}

TEST(Fourier, AxesOneAfterAnother) {
  const Tensor x = draw({3, 4, 5, 6, 2});
  const auto one = [](const Tensor& t, int axis) { return fft(t, {.axes = {axis}}); };
  EXPECT_LT(apart(fft(x, {.axes = {-2, -1}}), one(one(x, 2), 3)), 1e-12);
  EXPECT_LT(apart(fft(x, {.axes = {0, 2}}), one(one(x, 0), 2)), 1e-12);
  EXPECT_LT(apart(fft(x, {.axes = {0, 1, 2, 3}}), one(one(one(one(x, 0), 1), 2), 3)), 1e-11);
  EXPECT_LT(apart(ifft(fft(x, {.axes = {1, 2, 3}}), {.axes = {1, 2, 3}}), x), 1e-13);
  const Tensor real = draw({2, 6, 5});
  for (const Axes& axes : {Axes{-2, -1}, Axes{-1, -2}, Axes{0, 1, 2}, Axes{1}}) {
    const std::int64_t last = real.size(static_cast<int>(axes.list().back()));
    const Tensor half = rfft(real, {.axes = axes}), all = fft(complex_of(real, zeros_like(real)), {.axes = axes});
    const int axis = static_cast<int>((axes.list().back() + 3) % 3);
    EXPECT_LT(apart(half, slice(all, axis, {0, last / 2 + 1})), 1e-12);
    EXPECT_LT(apart(irfft(half, last, {.axes = axes}), real), 1e-13);
  }
}

TEST(Fourier, DtypesLayoutsModesAndEmptyBatches) {
  const Tensor x = draw({6, 8, 2}), turned = transpose(x, 0, 1);
  EXPECT_LT(apart(fft(turned, {.axes = {0}}), transpose(fft(x), 0, 1)), 1e-13);
  EXPECT_EQ(rfft(draw({4}, bf16)).dtype(), bf16);
  EXPECT_EQ(fft(zeros({0, 8, 2}, f64)).shape(), (Shape{0, 8, 2}));
  auto f = jit([](const Tensor& t) { return ifft(fft(t)); });
  for (int call = 0; call < 3; ++call) EXPECT_LT(apart(f(x), x), 1e-13);
  EXPECT_HAS_MESSAGE(fft(draw({3})), "fft: got shape (3,), expected pairs");
  EXPECT_HAS_MESSAGE(fft(draw({3, 2}), {.axes = {0, 0}}), "twice");
  EXPECT_HAS_MESSAGE(rfft(draw({3, 0})), "at least one number along each axis");
  EXPECT_HAS_MESSAGE(irfft(draw({4, 2}), 9), "size/2 + 1 numbers");
}

TEST(Fourier, Gradients) {
  for (const std::int64_t n : {1, 2, 5, 6}) {
    check_gradients([](const In& in) { return weighed(fft(in[0])); }, {draw({2, n, 2})});
    check_gradients([](const In& in) { return weighed(square(ifft(in[0]))); }, {draw({n, 2})});
    check_gradients([](const In& in) { return weighed(square(rfft(in[0]))); }, {draw({2, n})});
    check_gradients([n](const In& in) { return weighed(square(irfft(in[0], n))); }, {draw({2, n / 2 + 1, 2})});
  }
  check_gradients([](const In& in) { return weighed(square(rfft(in[0], {.axes = {0, 1}}))); }, {draw({4, 5})});
  check_gradients([](const In& in) { return weighed(square(irfft(in[0], 5, {.axes = {0, 1}}))); }, {draw({4, 3, 2})});
  check_gradients([](const In& in) { return weighed(convolve(in[0], in[1])); }, {draw({2, 5}), draw({3})});
  check_gradients([](const In& in) { return sum(square(grad(sum(square(square(rfft(in[0])))), in[0]))); }, {0.5 * draw({5})});
}

TEST(Fourier, ConvolutionsAreProductsOfPolynomials) {
  EXPECT_LT(apart(convolve(tensor({1.0, 2.0, 3.0}), tensor({1.0, 1.0})), tensor({1.0, 3.0, 5.0, 3.0})), 1e-14);
  const Tensor a = draw({200}), b = draw({37}), c = convolve(a, b);
  double worst = 0;
  const std::vector<double> x = a.to_host<double>(), y = b.to_host<double>(), z = c.to_host<double>();
  for (std::size_t k = 0; k < z.size(); ++k) {
    double sum = 0;
    for (std::size_t j = 0; j < y.size(); ++j)
      if (k >= j && k - j < x.size()) sum += x[k - j] * y[j];
    worst = std::max(worst, std::abs(sum - z[k]));
  }
  EXPECT_LT(worst, 1e-12);
}

TEST(Fourier, WindowsAndPiecesOfSignals) {
  EXPECT_LT(apart(hann_window(4, f64), tensor({0.0, 0.5, 1.0, 0.5})), 1e-15);
  EXPECT_LT(apart(hamming_window(3, f64, Period::Symmetric), tensor({0.08, 1.0, 0.08})), 1e-15);
  EXPECT_LT(most(slice(blackman_window(8, f64), 0, {0, 1})), 1e-15);
  const Tensor x = draw({2, 300}), s = stft(x, {.size = 64, .hop = 16});
  EXPECT_EQ(s.shape(), (Shape{2, 33, 19, 2}));
  EXPECT_LT(apart(istft(s, 300, {.size = 64, .hop = 16}), x), 1e-13);
  const Tensor piece = slice(x, 1, {100 - 32, 100 - 32 + 64}), at = stft(x, {.size = 64, .hop = 20, .center = false});
  EXPECT_LT(apart(select(at, 2, 4), rfft(slice(x, 1, {80, 144}) * hann_window(64, f64))), 1e-13) << "piece 4 begins at 80";
  EXPECT_EQ(piece.size(1), 64);
  check_gradients([](const In& in) { return weighed(square(stft(in[0], {.size = 8, .hop = 3}))); }, {draw({20})});
  EXPECT_HAS_MESSAGE(stft(draw({10}), {.size = 64, .center = false}), "a signal as long as a piece");
}

TEST(Fourier, GraphFilesHaveThem) {
  const std::vector<Tensor> in{draw({3, 6})};
  const auto f = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{grad(sum(square(rfft(x[0]))), x[0]), fft(rfft(x[0]))}; };
  save_graph("fourier.graph", f, in);
  const std::vector<Tensor> got = jit(load_graph("fourier.graph"))(in), expected = jit(f)(in);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].to_host<double>(), expected[i].to_host<double>());
  std::remove("fourier.graph");
}

}  // namespace
}  // namespace tegula
