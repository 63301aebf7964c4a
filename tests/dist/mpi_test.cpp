// Ranks that mpirun started: tests/CMakeLists.txt runs these where MPI is there.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tegula/dist.h"
#include "tegula/dist/transport/environment.h"
#include "tegula/dist/transport/mpi.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

TEST(UnderMpi, CollectivesOfTheWorld) {
  const auto place = dist::find_rank();
  if (!place || place->engine != "mpi") GTEST_SKIP() << "skipped: not started by mpirun";
  const dist::Group world = dist::world();
  const int n = world.size(), rank = world.rank();
  EXPECT_EQ(n, place->size);
  for (const std::int64_t count : {0, 1, 5, 300'001}) {
    for (const DType dtype : {f64, f32, bf16, i64, u8}) {
      const Tensor mine = full({count}, rank + 1.0, dtype);
      const auto sums = dist::all_reduce(mine).to_host<double>(), all = dist::all_gather(mine).to_host<double>();
      const auto root = dist::broadcast(mine, n - 1).to_host<double>();
      EXPECT_EQ(sums, std::vector<double>(static_cast<std::size_t>(count), n * (n + 1) / 2.0));
      EXPECT_EQ(root, std::vector<double>(static_cast<std::size_t>(count), n));
      for (std::int64_t i = 0; i < n * count; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], static_cast<double>(i / count + 1));
    }
  }
  auto step = jit([&](const Tensor& x) {
    const Tensor y = dist::all_to_all(dist::reduce_scatter(x, world) * 1.0f, world);
    return grad(sum(y * y), x);
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(step(ones({n * n})).shape(), Shape{n * n});
  // Around the ring.
  const Tensor token = rank == 0 ? dist::send(full({3}, 5.0), 1 % n) : Tensor();
  if (rank > 0) {
    const Tensor got = dist::receive({3}, f32, rank - 1);
    EXPECT_EQ(got.to_host(), std::vector<float>(3, 5));
    if (rank + 1 < n) dist::send(got, rank + 1);
  }
  dist::barrier();
}

// Exchanges are begun beside the backward pass, on a thread that MPI did not see before.
TEST(UnderMpi, TrainingGivesTheWeightsOfOneProcess) {
  const auto place = dist::find_rank();
  if (!place || place->engine != "mpi") GTEST_SKIP() << "skipped: not started by mpirun";
  const Tensor x = cast(normal({48, 64}), f64), y = randint(0, 3, {48});
  eval(x, y);
  const auto train = [&](const dist::Group& group) {
    manual_seed(3);
    const nn::LinearOptions in_f64{.dtype = f64};  // rounding must not decide on which side of a ReLU a value falls
    nn::Sequential net{nn::Linear{64, 200, in_f64}, relu, nn::Linear{200, 200, in_f64}, relu, nn::Linear{200, 3, in_f64}};
    optim::SGD sgd(parameters(net), {.lr = 0.1});
    const dist::DataParallel parallel = dist::data_parallel(net, {.group = group});
    auto step = jit([&](const Tensor& in, const Tensor& labels) {
      const Tensor loss = cross_entropy(net(in), labels);
      sgd.step(parallel.mean(grad(loss, parameters(net))));
      return loss;
    });
    const std::int64_t rows = 48 / group.size(), first = group.rank() * rows;  // 2, 3, 4 and 8 ranks have as many each
    for (int i = 0; i < 8; ++i) step(slice(x, 0, {first, first + rows}), slice(y, 0, {first, first + rows}));
    std::vector<double> weights;
    for (const Parameter& parameter : Parameters(parameters(net))) {
      const auto values = parameter.read().to_host<double>();
      weights.insert(weights.end(), values.begin(), values.end());
    }
    return weights;
  };
  const auto alone = train({}), mine = train(dist::world());
  for (std::size_t i = 0; i < mine.size(); ++i) ASSERT_NEAR(mine[i], alone[i], 1e-12) << i;
  const Tensor weights = tensor(mine, {static_cast<std::int64_t>(mine.size())});
  EXPECT_EQ(dist::broadcast(weights, 0).to_host<double>(), mine) << "the same bits on all ranks";
}

TEST(UnderMpi, WhatIsMissingIsSaidInASentence) {
  ::setenv("TEGULA_MPI_LIBRARY", "/nowhere/libtegula_mpi.so", 1);
  try {
    dist::mpi_transport({.rank = 0, .size = 2, .started_by = "mpirun", .engine = "mpi"});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("ranks of mpirun, and no libtegula_mpi.so"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("TEGULA_RENDEZVOUS"), std::string::npos);
  }
  ::unsetenv("TEGULA_MPI_LIBRARY");
}

}  // namespace
}  // namespace tegula
