// Gradients of which half of the bytes travel.

#include "tegula/dist/collectives/narrow_exchange.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "tegula/dist.h"
#include "tegula/tegula.h"
#include "tests/dist/trainings.h"

namespace tegula {
namespace {

/// Counts the bytes that a rank sends.
class Counting final : public dist::Transport {
 public:
  Counting(std::unique_ptr<dist::Transport> transport, std::atomic<std::size_t>& bytes) : transport_(std::move(transport)), bytes_(bytes) {}
  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  std::string name() const override { return transport_->name(); }
  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in, const dist::Doing& doing) override {
    bytes_ += out.size();
    transport_->exchange(to, out, from, in, doing);
  }
  void tell(int to, std::string bytes) override { transport_->tell(to, std::move(bytes)); }
  std::vector<dist::Note> notes() override { return transport_->notes(); }
  std::vector<int> listen(const dist::Doing& doing) override { return transport_->listen(doing); }
  double timeout() const override { return transport_->timeout(); }
  void stop(const std::string& sentence) noexcept override { transport_->stop(sentence); }
  void finish() noexcept override { transport_->finish(); }

 private:
  std::unique_ptr<dist::Transport> transport_;
  std::atomic<std::size_t>& bytes_;
};

double bytes_sent(int ranks, const std::function<void()>& work) {
  std::atomic<std::size_t> bytes{0};
  auto transports = dist::local_transports(ranks);
  std::vector<std::thread> threads;
  for (auto& transport : transports) {
    threads.emplace_back([&] {
      const dist::WorldScope scope(dist::group_over(std::make_shared<Counting>(std::move(transport), bytes)));
      work();
    });
  }
  for (auto& thread : threads) thread.join();
  return static_cast<double>(bytes);
}

TEST(NarrowExchange, HalfOfTheBytesTravelOrAQuarter) {
  for (const int ranks : {2, 3}) {
    const double wide = bytes_sent(ranks, [] { eval(dist::all_reduce(ones({99'999}))); });
    const double narrow =
        bytes_sent(ranks, [] { eval(dist::all_reduce_in_bf16(ones({99'999}), dist::world(), dist::Reduction::Sum, {})); });
    EXPECT_NEAR(narrow / wide, 0.5, 0.01) << ranks;
    const double part = bytes_sent(ranks, [] { eval(dist::reduce_scatter(ones({6, 9'999}))); });
    const double narrow_part =
        bytes_sent(ranks, [] { eval(dist::reduce_scatter_in_bf16(ones({6, 9'999}), dist::world(), dist::Reduction::Sum, {})); });
    EXPECT_NEAR(narrow_part / part, 0.5, 0.01) << ranks;
    const double codes = bytes_sent(ranks, [] { eval(dist::all_reduce_in_fp8(ones({99'999}), dist::world(), {}).sum); });
    EXPECT_NEAR(codes / wide, 0.25 * 129 / 128, 0.005) << ranks;
  }
}

TEST(NarrowExchange, IsNearTheSumWithTheSameBitsOnAllRanks) {
  for (const int ranks : {2, 3, 4}) {
    for (const std::int64_t size : {1, 10, 1001}) {
      const auto value = [](int rank, std::int64_t i) { return static_cast<float>(1.5 + std::sin(static_cast<double>(7 * rank + 3 * i))); };
      const auto results = test::on_ranks<std::vector<float>>(ranks, [&](int rank) {
        std::vector<float> values;
        for (std::int64_t i = 0; i < size; ++i) values.push_back(value(rank, i));
        return dist::all_reduce_in_bf16(tensor(values, {size}), dist::world(), dist::Reduction::Mean, {}).to_host<float>();
      });
      for (const auto& result : results) EXPECT_EQ(result, results[0]);
      ASSERT_EQ(results[0].size(), static_cast<std::size_t>(size));
      for (std::int64_t i = 0; i < size; ++i) {
        double mean = 0;
        for (int r = 0; r < ranks; ++r) mean += value(r, i) / ranks;
        EXPECT_NEAR(results[0][static_cast<std::size_t>(i)], mean, mean * (1.0 / 128 + 1.0 / 65536)) << i;  // two roundings
      }
    }
  }
}

// 130 + 130 + 129 is 389, and a third of it 130 in bf16; a third of 388, which is what bf16 makes of the sum, is 129.
TEST(NarrowExchange, ASumIsNotRoundedBeforeItIsDivided) {
  const auto results = test::on_ranks<std::vector<float>>(3, [](int rank) {
    return dist::all_reduce_in_bf16(full({10}, rank == 2 ? 129.0 : 130.0), dist::world(), dist::Reduction::Mean, {}).to_host<float>();
  });
  for (const auto& result : results) EXPECT_EQ(result, std::vector<float>(10, 130));
}

// In a training that halves its loss, the final loss is within a hundredth of the one with exact gradients.
TEST(NarrowExchange, ATrainingLearnsTheSame) {
  const auto run = [](std::optional<Precision> exchange, int shard = 0) {
    return test::on_ranks<std::vector<double>>(2, [&](int) {
      manual_seed(3);
      nn::Sequential net{nn::Linear{6, 16}, relu, nn::Linear{16, 3}};
      const dist::DataParallel parallel = dist::data_parallel(net, {.shard = shard, .exchange = exchange, .whole_below = 20});
      optim::Adam adam(parallel.parameters(), {.lr = 0.02});
      auto step = jit([&](const Tensor& x, const Tensor& y) {
        const Tensor loss = cross_entropy(net(x), y);
        adam.step(parallel.mean(grad(loss, parallel.leaves())));
        parallel.publish();
        return dist::all_reduce(loss, dist::world(), dist::Reduction::Mean);
      });
      double first = 0, last = 0;
      for (int epoch = 0; epoch < 40; ++epoch) {
        const data::Shard shard{dist::world().rank(), dist::world().size()};
        for (const auto& [x, y] : data::Loader(test::rows(32, {6}), {.batch = 32, .shard = shard})) last = step(x, y).item<double>();
        if (epoch == 0) first = last;
      }
      return std::vector<double>{first, last};
    })[0];
  };
  const auto exact = run({}), narrow = run(Precision::bf16);
  EXPECT_LT(exact[1], 0.5 * exact[0]);
  EXPECT_NEAR(narrow[1], exact[1], 0.01);
  EXPECT_NE(narrow[1], exact[1]) << "the gradients were rounded";
  for (const int shard : {1, 2, 3}) {
    const auto part = run(Precision::bf16, shard);
    EXPECT_NEAR(part[1], exact[1], 0.01) << shard;
    EXPECT_NE(part[1], run({}, shard)[1]) << shard;
  }
}

TEST(NarrowExchange, OtherDtypesAndPartsAreErrors) {
  const auto message = [](const dist::DataParallelOptions& options) -> std::string {
    try {
      const dist::DataParallel parallel({}, options);
    } catch (const Error& error) { return error.what(); }
    return "nothing was thrown";
  };
  EXPECT_NE(message({.exchange = Precision::fp16}).find("data_parallel: got .exchange = fp16, expected bf16, fp8"), std::string::npos)
      << message({.exchange = Precision::fp16});
  nn::Linear net(3, 2);
  try {
    dist::data_parallel(net, {.shard = 3, .exchange = Precision::fp8});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("got .exchange = fp8 with .shard = 3, expected bf16, or .shard of at most 2"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tegula
