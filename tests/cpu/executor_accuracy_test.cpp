// The distance of the f32 functions from the C library's f64 ones, over the whole range of floats.

#include <cstdlib>
#include <vector>

#include "tests/support/executor_support.h"

namespace tegula::host {
namespace {

using namespace tegula::tile;

constexpr std::size_t kChunk = 4096;

/// Runs one word over memory.
class WordRunner {
 public:
  WordRunner(Word word, int operands) {
    Builder b("word");
    const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, false), out = b.pointer("out", f32, true), i = b.arange(0, kChunk);
    b.store(out + i, operands == 1 ? unary(word, b.load(x + i)) : binary(word, b.load(x + i), b.load(y + i)));
    kernel_ = compile_program(b.finish());
  }
  std::vector<float> operator()(std::vector<float> x, std::vector<float> y = {}) const {
    std::vector<float> out(x.size());
    runtime::Argument arguments[3];
    arguments[0].pointer = x.data(), arguments[1].pointer = y.data(), arguments[2].pointer = out.data();
    const runtime::ArgumentSet set{arguments, {1, 1, 1}};
    kernel_->launch({&set, 1}, {});
    return out;
  }

 private:
  std::unique_ptr<runtime::Kernel> kernel_;
};

/// Distance from the true value in units in the last place of a float there.
double error(float got, double truth) {
  const float rounded = static_cast<float>(truth);
  if (std::isnan(truth)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    // The largest float and infinity are neighbours.
    return std::abs(std::isinf(got) ? truth : static_cast<double>(got)) > 3.4028e38 ? 1 : HUGE_VAL;
  }
  const float magnitude = std::abs(rounded);
  const double unit =
      std::max(static_cast<double>(std::nextafter(magnitude, HUGE_VALF)) - static_cast<double>(magnitude), 1.4012984643248171e-45);
  return std::abs(static_cast<double>(got) - truth) / unit;
}

std::uint32_t stride() {
  const char* text = std::getenv("TEGULA_ACCURACY_STRIDE");
  return text ? static_cast<std::uint32_t>(std::atoi(text)) : 9973;
}

void expect_accurate(Word word, double (*truth)(double), double limit) {
  const WordRunner run(word, 1);
  double worst = 0;
  float where = 0;
  std::vector<float> x;
  const auto flush = [&] {
    x.resize(kChunk, 1.0f);
    const auto got = run(x);
    for (std::size_t i = 0; i < kChunk; ++i) {
      if (const double e = error(got[i], truth(static_cast<double>(x[i]))); e > worst) worst = e, where = x[i];
    }
    x.clear();
  };
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += stride()) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (x.size() == kChunk) flush();
  }
  for (const float special : {0.0f,    -0.0f,           1.0f,           -1.0f,           HUGE_VALF,   -HUGE_VALF,  std::nanf(""), 1e-45f,
                              -1e-45f, 1.17549435e-38f, 3.40282347e38f, -3.40282347e38f, 88.7228394f, 88.7228470f, -103.972084f,  -104.5f,
                              128.0f,  -149.0f,         -149.5f,        0.99999994f,     1.00000012f, -0.99999994f}) {
    x.push_back(special);
  }
  flush();
  EXPECT_LE(worst, limit) << name(word) << " is worst at " << where;
  if (std::getenv("TEGULA_ACCURACY_STRIDE"))
    std::printf("%-8s %.2f ulp at %.9g\n", std::string(name(word)).c_str(), worst, static_cast<double>(where));
}

double true_sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

TEST(ExecutorAccuracy, FourUnitsInTheLastPlaceOverAllFloats) {
  expect_accurate(Word::Exp, std::exp, 4);
  expect_accurate(Word::Exp2, std::exp2, 4);
  expect_accurate(Word::Expm1, std::expm1, 4);
  expect_accurate(Word::Log, std::log, 4);
  expect_accurate(Word::Log2, std::log2, 4);
  expect_accurate(Word::Log1p, std::log1p, 4);
  expect_accurate(Word::Tanh, std::tanh, 4);
  expect_accurate(Word::Erf, std::erf, 4);
  expect_accurate(Word::Sigmoid, [](double x) { return std::isnan(x) ? x : true_sigmoid(std::max(x, -700.0)); }, 4);
  expect_accurate(Word::Sin, std::sin, 1);
  expect_accurate(Word::Cos, std::cos, 1);
  expect_accurate(Word::Rsqrt, [](double x) { return 1 / std::sqrt(x); }, 2);
}

TEST(ExecutorAccuracy, PowFollowsTheCLibraryInItsSpecialCases) {
  const WordRunner run(Word::Pow, 2);
  const float specials[] = {0.0f,   -0.0f, 1.0f,   -1.0f, 2.0f,      -2.0f,      3.0f,          -3.0f, 0.5f,   -0.5f,  1e-40f,
                            1e-20f, 1e20f, -1e20f, 1.5f,  HUGE_VALF, -HUGE_VALF, std::nanf(""), 40.0f, -40.0f, 127.9f, 1.0000001f};
  std::vector<float> x, y;
  for (const float a : specials) {
    for (const float b : specials) x.push_back(a), y.push_back(b);
  }
  std::mt19937 random(1);
  while (x.size() < kChunk) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0x7fffffff)));
    y.push_back(static_cast<float>(random()) / 1e8f - 20);
  }
  const auto got = run(x, y);
  for (std::size_t i = 0; i < kChunk; ++i) {
    EXPECT_LE(error(got[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]))), 1) << x[i] << " to the " << y[i];
  }
}

/// The element's place in a row, its neighbours and the length of the row must not change it.
TEST(ExecutorAccuracy, TailsGiveTheSameBits) {
  for (const Word word : {Word::Exp, Word::Log, Word::Tanh, Word::Sin, Word::Expm1, Word::Erf, Word::Sigmoid, Word::Log1p}) {
    const WordRunner whole(word, 1);
    std::vector<float> x(kChunk);
    for (std::size_t i = 0; i < kChunk; ++i) x[i] = static_cast<float>(i % 97) / 16.0f + 0.01f;
    const auto expected = whole(x);
    Builder b("tail");
    const Value in = b.pointer("x", f32, false), out = b.pointer("out", f32, true), i = b.arange(0, 97);
    b.store(out + i, unary(word, b.load(in + i)));
    const auto kernel = compile_program(b.finish());
    std::vector<float> got(97);
    x.resize(97), x.shrink_to_fit();
    runtime::Argument arguments[2];
    arguments[0].pointer = x.data(), arguments[1].pointer = got.data();
    const runtime::ArgumentSet set{arguments, {1, 1, 1}};
    kernel->launch({&set, 1}, {});
    for (std::size_t k = 0; k < 97; ++k) EXPECT_EQ(got[k], expected[k]) << name(word);
  }
}

}  // namespace
}  // namespace tegula::host
