// Small products on tensor cores, run on the CPU.

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tegula/cuda/blas/blas_layout.h"
#include "tegula/cuda/handwritten/plain_tensor_product.h"
#include "tests/support/emulator.h"
#include "tests/support/library.h"

namespace tegula::gpu {
namespace {

using test::matrix;
using test::MatrixOrder;

class Case {
 public:
  Case(std::int64_t m, std::int64_t n, std::int64_t k, int order, bool bias) : m_(m), n_(n), k_(k) {
    const auto of = [&](int bit) { return order >> bit & 1 ? MatrixOrder::Rows : MatrixOrder::Columns; };
    d_ = {.a = {f32, matrix({2, m, k}, of(0))},
          .b = {f32, matrix({2, k, n}, of(1))},
          .c = {f32, matrix({2, m, n}, of(2))},
          .arithmetic = runtime::Arithmetic::TF32,
          .epilogue = bias ? test::with_bias(true, runtime::relu(f32)) : runtime::Expression()};
    p_ = blas_product(d_);
  }

  const runtime::Matmul& description() const { return d_; }
  const BlasProduct& product() const { return p_; }

  void check(const SplitChoice& choice) const {
    std::mt19937 random(5);
    std::uniform_int_distribution<int> small(-4, 4);  // exact in every format
    const auto numbers = [&](std::int64_t n) {
      std::vector<float> x(static_cast<std::size_t>(n));
      for (float& v : x) v = static_cast<float>(small(random)) / 4;
      return x;
    };
    std::vector<float> a = numbers(2 * m_ * k_), b = numbers(2 * k_ * n_), bias = numbers(n_), c(static_cast<std::size_t>(2 * m_ * n_), 77);
    std::vector<void*> pointers{p_.swapped ? b.data() : a.data(), p_.swapped ? a.data() : b.data()};
    if (!d_.epilogue.is_empty()) pointers.push_back(bias.data());
    pointers.push_back(c.data());
    emulate(split_product_kernel(d_, p_, choice), pointers, choice.parts);
    const auto at = [](const std::vector<float>& x, const Layout& layout, std::int64_t batch, std::int64_t row, std::int64_t column) {
      return x[static_cast<std::size_t>(batch * layout.strides[0] + row * layout.strides[1] + column * layout.strides[2])];
    };
    for (std::int64_t batch = 0; batch < 2; ++batch) {
      for (std::int64_t i = 0; i < m_; ++i) {
        for (std::int64_t j = 0; j < n_; ++j) {
          float sum = !d_.epilogue.is_empty() ? bias[static_cast<std::size_t>(j)] : 0;
          for (std::int64_t l = 0; l < k_; ++l) sum += at(a, d_.a.layout, batch, i, l) * at(b, d_.b.layout, batch, l, j);
          if (!d_.epilogue.is_empty()) sum = std::max(sum, 0.0f);
          ASSERT_EQ(at(c, d_.c.layout, batch, i, j), sum)
              << choice.text() << " of " << m_ << "x" << n_ << "x" << k_ << " at " << i << ", " << j;
        }
      }
    }
  }

 private:
  std::int64_t m_, n_, k_;
  runtime::Matmul d_;
  BlasProduct p_;
};

// Every orientation, ragged edges, a batch, a bias along either side, in every tile.
TEST(TensorProduct, EveryCutIsTheNaiveSum) {
  const std::array<SplitChoice, 5> choices{{{16, 8, 1, 4}, {16, 16, 1, 8}, {32, 16, 1, 16}, {32, 32, 1, 8}, {32, 32, 1, 4}}};
  int round = 0;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{33, 40, 100}, {64, 32, 784}, {7, 10, 51}}) {
    for (int order = round % 2; order < 8; order += 2, ++round) {
      Case(m, n, k, order, round % 3 == 0).check(choices[static_cast<std::size_t>(round) % choices.size()]);
    }
  }
}

// Shares of the inner axis that end within a step, steps that take turns in shared memory, clusters with and without company.
TEST(TensorProduct, EveryCutOverAClusterIsTheNaiveSum) {
  const std::array<SplitChoice, 4> choices{{{64, 64, 8, 4}, {64, 32, 2, 4}, {64, 64, 1, 4}, {64, 64, 4, 8}}};
  int round = 0;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{66, 30, 101}, {64, 32, 260}}) {
    for (int order = round % 2; order < 8; order += 2, ++round) {
      Case(m, n, k, order, round % 3 == 0).check(choices[static_cast<std::size_t>(round) % choices.size()]);
    }
  }
}

TEST(TensorProduct, OnlyProductsThatMayRoundTheirOperandsAreOffered) {
  const Case product(64, 128, 784, 3, false);
  const auto choices = split_choices(product.description(), product.product(), Card());
  ASSERT_FALSE(choices.empty());
  for (const SplitChoice& choice : choices) {
    EXPECT_GT(choice.warps, 0);
    EXPECT_EQ(SplitChoice::from(choice.text()), choice);
  }
  runtime::Matmul full = product.description();
  full.arithmetic = runtime::Arithmetic::Full;
  for (const SplitChoice& choice : split_choices(full, product.product(), Card())) EXPECT_EQ(choice.warps, 0);
}

/// True if (m, k) times (k, n) takes longer in halves than in f32.
bool halves_cost_more(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto price = price_product(
      runtime::Matmul::of(f32, matrix({m, k}, MatrixOrder::Rows), matrix({k, n}, MatrixOrder::Columns), matrix({m, n}, MatrixOrder::Rows)),
      Card());
  return price.in_f32 < price.in_halves;
}

TEST(TensorProduct, CostsLessThanHalvesWhoseRowsBeginAnywhere) {
  EXPECT_TRUE(halves_cost_more(100, 333, 785));
  EXPECT_TRUE(halves_cost_more(500, 333, 785));
  EXPECT_FALSE(halves_cost_more(500, 333, 784));    // both operands' rows are pieces of 16 bytes
  EXPECT_FALSE(halves_cost_more(500, 336, 785));    // the result's are
  EXPECT_FALSE(halves_cost_more(4001, 4001, 4001));  // no small product
}

TEST(TensorProduct, CostsLessThanHalvesWhereItIsOverBeforeTheyHaveBegun) {
  EXPECT_TRUE(halves_cost_more(64, 1024, 256));   // a step of an LSTM
  EXPECT_TRUE(halves_cost_more(128, 400, 784));   // a small autoencoder's
  EXPECT_FALSE(halves_cost_more(128, 2048, 512));  // a step of a larger LSTM: 3.75 ms in halves, 4.77 as TF32 (H200, 200 steps)
  EXPECT_FALSE(halves_cost_more(1024, 576, 192));  // a vision transformer's
  EXPECT_FALSE(halves_cost_more(4096, 1024, 1024));
  EXPECT_FALSE(halves_cost_more(1, 2304, 768)) << "a decoder's rows: what counts is the bytes of its weights";
}

}  // namespace
}  // namespace tegula::gpu
