// Ranks with a GPU each, that tegula launch started: tegula launch --devices 0,1 test_dist --gtest_filter='OnGpus.*' (scripts/gpu_visit.sh two).

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "tegula/dist.h"
#include "tegula/dist/transport/environment.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

class OnGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto place = dist::find_rank();
    if (!place || place->size < 2) GTEST_SKIP() << "skipped: not one of several ranks";
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << "skipped: " << why;
    scope_.emplace(cuda());
    rank = dist::world().rank(), ranks = dist::world().size();
  }
  void TearDown() override { scope_.reset(); }

  /// Small whole numbers, so that sums are exact in every dtype; `turn` makes others of them.
  Tensor numbers(int of, std::int64_t count, DType dtype, int turn) const { return cast((arange(count) * 3 + of + turn) % 7, dtype); }
  std::vector<double> sums(std::int64_t count, int turn) const {
    std::vector<double> all(static_cast<std::size_t>(count), 0);
    for (int r = 0; r < ranks; ++r) {
      for (std::int64_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] += static_cast<double>((i * 3 + r + turn) % 7);
    }
    return all;
  }

  int rank = 0, ranks = 1;

 private:
  std::optional<DeviceScope> scope_;
};

// By the kernel over peers' memory and by NCCL, whose sizes meet in between; each at once and in a recorded step.
TEST_F(OnGpus, SumsOfAllSizesAndDtypes) {
  for (const DType dtype : {f32, bf16, f16, f64, i32, i64}) {
    for (const std::int64_t count : {1, 2, 3, 255, 1000, 4096, 100'001, 262'144, 262'145, 524'288, 524'290, 1'300'000, 5'000'001}) {
      auto step = jit([](const Tensor& x) { return dist::all_reduce(dist::all_reduce(x) - x * float(dist::world().size() - 1)); });
      for (int turn = 0; turn < 5; ++turn) {
        const Tensor mine = numbers(rank, count, dtype, turn);
        const std::vector<double> expected = sums(count, turn);
        ASSERT_EQ(dist::all_reduce(mine).to_host<double>(), expected) << name(dtype) << " " << count << " turn " << turn;
        const std::vector<double> twice = step(mine).to_host<double>();  // n·S − (n − 1)·S = S
        ASSERT_EQ(twice, expected) << name(dtype) << " " << count << " turn " << turn << " in jit";
      }
    }
  }
}

TEST_F(OnGpus, MeansAndWhatBeginsBetweenWords) {
  for (const DType dtype : {f32, bf16}) {
    const Tensor mine = numbers(rank, 1003, dtype, 0) * float(ranks);
    std::vector<double> expected = sums(1003, 0);
    EXPECT_EQ(dist::all_reduce(mine, dist::world(), dist::Reduction::Mean).to_host<double>(), expected);
    expected.erase(expected.begin());
    EXPECT_EQ(dist::all_reduce(slice(mine, 0, {1, 1003}), dist::world(), dist::Reduction::Mean).to_host<double>(), expected);
  }
}

// Many exchanges behind each other, none of which the host waits for: boxes take turns, or are waited for.
TEST_F(OnGpus, ManyBehindEachOther) {
  auto step = jit([](Tensor x) {
    for (int i = 0; i < 20; ++i) x = dist::all_reduce(x, dist::world(), dist::Reduction::Mean) + 1.0f;
    return x;
  });
  for (const std::int64_t count : {5, 3000, 200'000, 800'000}) {
    Tensor x = full({count}, static_cast<float>(rank));
    for (int i = 0; i < 30; ++i) x = step(x);
    const float expected = static_cast<float>(ranks - 1) / 2 + 600;
    for (const float value : x.to_host()) ASSERT_EQ(value, expected) << count;
  }
}

TEST_F(OnGpus, NanComesThrough) {
  const std::vector<float> values{1, rank == 0 ? NAN : 2, rank == 1 ? INFINITY : 1};
  const std::vector<float> got = dist::all_reduce(tensor(values, {3})).to_host();
  EXPECT_EQ(got[0], static_cast<float>(ranks));
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_EQ(got[2], INFINITY);
}

// In a training the gradients' bits are the same on all ranks, and the weights those of one process up to rounding.
TEST_F(OnGpus, ATrainingIsThatOfOneProcess) {
  const Tensor x = normal({48, 64}), y = randint(0, 3, {48});
  eval(x, y);
  const auto train = [&](const dist::Group& group) {
    manual_seed(3);
    nn::Sequential net{nn::Linear{64, 200}, tanh, nn::Linear{200, 200}, tanh, nn::Linear{200, 3}};
    optim::SGD sgd(parameters(net), {.lr = 0.1});
    const dist::DataParallel parallel = dist::data_parallel(net, {.group = group});
    auto step = jit([&](const Tensor& in, const Tensor& labels) {
      const Tensor loss = cross_entropy(net(in), labels);
      sgd.step(parallel.mean(grad(loss, parameters(net))));
      return loss;
    });
    const std::int64_t rows = 48 / group.size(), first = group.rank() * rows;
    for (int i = 0; i < 12; ++i) step(slice(x, 0, {first, first + rows}), slice(y, 0, {first, first + rows}));
    std::vector<float> weights;
    for (const Parameter& parameter : Parameters(parameters(net))) {
      const auto values = parameter.read().to_host();
      weights.insert(weights.end(), values.begin(), values.end());
    }
    return weights;
  };
  const auto alone = train({}), mine = train(dist::world());
  for (std::size_t i = 0; i < mine.size(); ++i) ASSERT_NEAR(mine[i], alone[i], 2e-5) << i;
  EXPECT_EQ(dist::broadcast(tensor(mine, {static_cast<std::int64_t>(mine.size())}), 0).to_host(), mine) << "the same bits on all ranks";
}

// For two ranks by their copy engines, also if an element's halves begin between words.
TEST_F(OnGpus, LargeGathersAndScatters) {
  for (const DType dtype : {f32, bf16, f64}) {
    for (const std::int64_t count : {600'000, 1'500'001}) {
      auto step = jit([](const Tensor& x) {
        const Tensor all = dist::all_gather(x), back = dist::reduce_scatter(all * 2.0f);
        return std::vector<Tensor>{all, back, dist::reduce_scatter(all, dist::world(), dist::Reduction::Mean)};
      });
      for (int turn = 0; turn < 3; ++turn) {
        const Tensor mine = numbers(rank, count, dtype, turn);
        const std::vector<double> own = mine.to_host<double>();
        std::vector<double> expected;
        for (int r = 0; r < ranks; ++r) {
          const auto theirs = numbers(r, count, dtype, turn).to_host<double>();
          expected.insert(expected.end(), theirs.begin(), theirs.end());
        }
        const auto found = step(mine);
        ASSERT_EQ(found[0].to_host<double>(), expected) << name(dtype) << " " << count;
        ASSERT_EQ(found[1].to_host<double>(), (mine * float(2 * ranks)).to_host<double>()) << name(dtype) << " " << count;
        ASSERT_EQ(found[2].to_host<double>(), own) << name(dtype) << " " << count;
        ASSERT_EQ(dist::all_gather(mine).to_host<double>(), expected) << "at once";
      }
    }
  }
}

TEST_F(OnGpus, EveryOtherCollective) {
  const std::int64_t n = ranks;
  const Tensor x = cast(reshape(arange(2 * n * 3), {2 * n, 3}) + 100 * rank, f32);
  eval(x);
  EXPECT_EQ(dist::all_gather(x).shape(), (Shape{2 * n * n, 3}));
  const auto gathered = dist::all_gather(x).to_host();
  for (std::int64_t i = 0; i < numel(Shape{2 * n * n, 3}); ++i)
    ASSERT_EQ(gathered[static_cast<std::size_t>(i)], static_cast<float>(i % (6 * n) + 100 * (i / (6 * n))));
  const auto scattered = dist::reduce_scatter(x).to_host();
  for (std::size_t i = 0; i < 6; ++i)
    ASSERT_EQ(scattered[i],
              static_cast<float>(n) * (static_cast<float>(i) + 6 * static_cast<float>(rank)) + 100.f * static_cast<float>(n * (n - 1) / 2));
  const auto exchanged = dist::all_to_all(x).to_host();
  for (std::int64_t i = 0; i < 6 * n; ++i)
    ASSERT_EQ(exchanged[static_cast<std::size_t>(i)], static_cast<float>(i % 6 + 6 * rank + 100 * (i / 6)));
  EXPECT_EQ(dist::broadcast(x, ranks - 1).to_host()[0], static_cast<float>(100 * (ranks - 1)));
  EXPECT_EQ(dist::all_reduce(x, dist::world(), dist::Reduction::Max).to_host()[0], static_cast<float>(100 * (ranks - 1)));
  dist::barrier();
}

}  // namespace
}  // namespace tegula
