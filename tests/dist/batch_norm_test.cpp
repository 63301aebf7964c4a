// Statistics of batch norm over all ranks.

#include <gtest/gtest.h>

#include "tegula/dist/parallel/counted_rows.h"
#include "tests/dist/trainings.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

struct Normed {
  nn::Conv2d conv{1, 4, 3, {.bias = false}};  // one in front of a norm has no gradient but rounding, which Adam would walk by
  nn::BatchNorm2d norm{4};
  nn::Linear out{4 * 2 * 2, 3};
  Tensor operator()(const Tensor& x) { return out(flatten(max_pool2d(relu(norm(conv(x))), {2}), 1)); }
};
struct Synced : Normed {
  Synced() { nn::sync_batch_norm(static_cast<Normed&>(*this), dist::world()); }
  static constexpr auto fields = nn::fields<&Synced::conv, &Synced::norm, &Synced::out>;
};

TEST(SyncBatchNorm, TrainsAsOneProcessDoes) {
  test::expect_like_one_process<Synced>({1, 6, 6}, {.epochs = 3, .batch = 16}, {2, 3});
  test::expect_like_one_process<Synced>({1, 6, 6}, {.epochs = 3, .batch = 16, .shard = 3}, {2});
}

// The last batch has two rows for three ranks: the row that the third was given does not count.
TEST(SyncBatchNorm, BatchesMayHaveFewerRowsThanThereAreRanks) {
  test::expect_like_one_process<Synced>(test::rows(37, {1, 6, 6}), test::rows(30, {1, 6, 6}), {.epochs = 4, .batch = 5, .shuffle = false},
                                        {3});
}

/// Ranks with different numbers of rows: the result, the gradient with respect to each rank's rows, and the running averages.
TEST(SyncBatchNorm, ValuesAndGradientsAreThoseOfAllRows) {
  manual_seed(1);
  const Tensor x = normal({7, 3, 2}, 0.3, 2, {.dtype = f64}), factor = normal({7, 3, 2}, 0, 1, {.dtype = f64});
  eval(x, factor);
  struct Result {
    std::vector<double> y, dx, mean, variance;
  };
  const auto run = [&](Slice part, const dist::Group& group, bool jitted) {
    nn::BatchNorm1d norm(3, {.dtype = f64});
    EXPECT_EQ(nn::sync_batch_norm(norm, group), 1);
    const auto pass = [&](const Tensor& own, const Tensor& own_factor) {
      const Tensor y = norm(own);
      return std::vector<Tensor>{y, grad(sum(y * own_factor * y), {own})[0]};
    };
    auto fast = jit(pass);
    const Tensor own = from_array(slice(x, 0, part).to_array()), own_factor = from_array(slice(factor, 0, part).to_array());
    const auto out = jitted ? fast(own, own_factor) : pass(own, own_factor);
    return Result{out[0].to_host<double>(), out[1].to_host<double>(), norm.running_mean.to_host<double>(),
                  norm.running_var.to_host<double>()};
  };
  const Result whole = run({0, 7}, {}, false);
  for (const bool jitted : {false, true}) {
    const auto parts = test::on_ranks<Result>(3, [&](int rank) {
      return run(rank == 0 ? Slice{0, 1} : rank == 1 ? Slice{1, 5} : Slice{5, 7}, dist::world(), jitted);
    });
    std::vector<double> y, dx;
    for (const Result& part : parts) {
      y.insert(y.end(), part.y.begin(), part.y.end()), dx.insert(dx.end(), part.dx.begin(), part.dx.end());
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(part.mean[c], whole.mean[c], 1e-12);
        EXPECT_NEAR(part.variance[c], whole.variance[c], 1e-12);
      }
    }
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_NEAR(y[i], whole.y[i], 1e-11);
      EXPECT_NEAR(dx[i], whole.dx[i], 1e-11);
    }
  }
}

// One row is refused, as in one process.
TEST(SyncBatchNorm, OneRowInAllIsAnErrorOnEveryRankAndTheAveragesStay) {
  nn::BatchNorm1d alone(3);
  EXPECT_HAS_MESSAGE(alone(ones({1, 3})), "batch_norm: got shape (1, 3), expected more than one value for each channel while training");
  for (const bool jitted : {false, true}) {
    test::on_ranks<int>(2, [&](int rank) {
      nn::BatchNorm1d norm(3, {.track_running_stats = jitted});
      nn::sync_batch_norm(norm);
      const auto pass = [&](const Tensor& x, const Tensor& share) {
        const dist::CountedRows counted(share);
        return norm(x);
      };
      auto fast = jit(pass);
      const Tensor x = ones({1, 3}), share = rank == 0 ? 1.0f : 0.0f;  // the other's row was given to it so that it takes part
      EXPECT_HAS_MESSAGE((jitted ? fast(x, share) : pass(x, share)).to_array(),
                         "batch_norm: got 1 value for each channel on all ranks together, expected more than one value for each channel "
                         "while training\n  at " __FILE__);
      if (jitted) { EXPECT_EQ(norm.running_mean.to_host(), std::vector<float>(3)); }
      return 0;
    });
  }
}

TEST(SyncBatchNorm, EvaluationExchangesNothing) {
  test::on_ranks<int>(2, [](int rank) {
    nn::BatchNorm2d norm(3);
    nn::sync_batch_norm(norm);
    eval(norm);
    if (rank == 0) norm(ones({2, 3, 4, 4})).to_host();  // alone
    return 0;
  });
}

}  // namespace
}  // namespace tegula
