// Collectives by the devices' own engine: NCCL, a pretended one, between ranks whose devices queue their work. The other promises of collectives are
// tested in the other files for this engine, too (test_dist.nccl).

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tegula/dist.h"
#include "tegula/dist/engines/device_call.h"
#include "tegula/dist/transport/rendezvous.h"
#include "tegula/tegula.h"
#include "tests/dist/ranks.h"

namespace tegula {
namespace {

using dist::Kind;
using dist::Reduction;
using test::CommunicatingDevice;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Another value of a variable, while it lives.
class Set {
 public:
  Set(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    if (value) ::setenv(name, value, 1);
    else ::unsetenv(name);
  }
  ~Set() {
    if (before_.empty()) ::unsetenv(name_);
    else ::setenv(name_, before_.c_str(), 1);
  }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  const char* name_;
  std::string before_;
};

class OwnEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const device = std::getenv("TEGULA_TEST_DEVICE");
    if (!device || std::string(device) != "communicating") GTEST_SKIP() << "ranks' devices exchange nothing by themselves";
  }
};

CommunicatingDevice& own() { return dynamic_cast<CommunicatingDevice&>(default_device()); }

/// This rank's numbers: small integers, so that sums are exact in every dtype.
Tensor numbers(int rank, const Shape& shape, DType dtype) {
  const Tensor all = reshape((arange(numel(shape)) * 3 + rank) % 5 + 1, shape);
  return dtype == boolean ? all > 3 : cast(all, dtype);
}

/// Each rank's results of every collective, in one row.
std::vector<double> everything(int rank, DType dtype) {
  const dist::Group world = dist::world();
  const int n = world.size();
  const Tensor x = numbers(rank, {2 * n, 3}, dtype);
  std::vector<Tensor> results{dist::all_gather(x), dist::broadcast(x, n - 1), dist::all_to_all(x),
                              dist::all_reduce(x, world, Reduction::Max),
                              dist::all_reduce(numbers(rank, {0, 4}, dtype), world, Reduction::Max)};
  if (dtype != boolean) {
    results.push_back(dist::all_reduce(x));
    results.push_back(dist::reduce_scatter(x));
    results.push_back(dist::reduce(x, 1));
  }
  if (is_float(dtype)) results.push_back(dist::all_reduce(x * 2.0f, world, Reduction::Mean));
  if (rank == 0) dist::send(x, 1);
  if (rank == 1) results.push_back(dist::receive({2 * n, 3}, dtype, 0));
  if (n > 2) {
    const dist::Group two = world.sub({2, 0});
    if (two.contains_me()) results.push_back(dist::all_gather(x, two));
  }
  dist::barrier();
  std::vector<double> row;
  for (const Tensor& result : results) {
    for (const double value : result.to_host<double>()) row.push_back(value);
    row.push_back(-1e6);
  }
  return row;
}

TEST_F(OwnEngine, GivesWhatTheHostGivesInEveryDtype) {
  for (const int ranks : {2, 3, 4}) {
    for (const DType dtype : kAllDTypes) {
      if (is_float8(dtype)) continue;  // nothing is computed in them
      const auto run = [&](const char* engine) {
        const Set set("TEGULA_ENGINE", engine);
        return test::on_ranks<std::vector<double>>(ranks, [&](int rank) {
          const auto row = everything(rank, dtype);
          EXPECT_EQ(own().exchanges > 0, std::string(engine) == "nccl");
          return row;
        });
      };
      EXPECT_EQ(run("nccl"), run("sockets")) << ranks << " ranks, " << name(dtype);
    }
  }
}

TEST_F(OwnEngine, KeepsNaNsOfMaximaWhichAreTheHosts) {
  test::on_ranks<int>(2, [](int rank) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto most = dist::all_reduce(tensor({rank == 0 ? nan : 1.f, 2.f}), dist::world(), Reduction::Max).to_host<float>();
    EXPECT_TRUE(std::isnan(most[0]));
    EXPECT_EQ(most[1], 2);
    EXPECT_EQ(own().exchanges, 0);
    return 0;
  });
}

TEST_F(OwnEngine, IsPartOfARepeatedStep) {
  test::on_ranks<int>(3, [](int rank) {
    Variable total(zeros({4}));
    auto step = jit([&](const Tensor& x) {
      total = total + dist::all_reduce(x * 2.0f);
      return sum(dist::all_gather(x));
    });
    const Tensor x = full({4}, rank + 1.0);
    for (int i = 1; i <= 6; ++i) {
      EXPECT_EQ(step(x).item(), 24);
      EXPECT_EQ(total.to_host(), std::vector<float>(4, 12.0f * static_cast<float>(i)));
    }
    EXPECT_GT(own().counters.replays, 0);
    EXPECT_EQ(own().exchanges, 12);
    return 0;
  });
}

// One rank repeats a step while another compiles one: neither waits for a word of the other.
TEST_F(OwnEngine, RanksOfWhichOneRepeatsAndOneCompilesMeet) {
  test::on_ranks<int>(2, [](int rank) {
    auto step = jit([](const Tensor& x) { return dist::all_reduce(sum(x)); });
    for (int i = 1; i <= 8; ++i) {
      const std::int64_t rows = rank == 0 ? 4 : i;
      EXPECT_EQ(step(ones({rows})).item(), 4 + i);
    }
    return 0;
  });
}

TEST_F(OwnEngine, IsChosenWhereEveryRankHasAGpuOfItsOwn) {
  for (const bool shared : {false, true}) {
    const Set set("TEGULA_ENGINE", nullptr);
    test::on_ranks<int>(3, [&](int rank) {
      if (shared && rank > 0) own().card = "GPU-1";
      EXPECT_EQ(dist::all_reduce(full({2}, rank)).to_host(), std::vector<float>(2, 3));
      EXPECT_EQ(own().exchanges > 0, !shared);
      return 0;
    });
  }
}

TEST_F(OwnEngine, ThatIsDemandedAndCannotBeHadIsAnError) {
  const auto failures = test::failures_of(3, [&](int rank) {
    if (rank > 0) own().card = "GPU-1";
    dist::all_reduce(full({2}, rank));
  });
  for (const auto& failure : failures) {
    EXPECT_PRED2(has, failure, "nccl: got rank 1 and rank 2 on one GPU, GPU-1, expected ");
    EXPECT_PRED2(has, failure, "own_engine_test.cpp:");
  }
}

TEST_F(OwnEngine, RanksThatDifferInARepeatedStepAreTold) {
  const auto failures = test::failures_of(2, [&](int rank) {
    auto step = jit([](const Tensor& x) { return dist::all_reduce(x); });
    auto other = jit([](const Tensor& x) { return dist::reduce(x, 0); });
    const Tensor x = full({2}, rank, f32);
    for (int i = 0; i < 4; ++i) step(x), other(x);
    for (int i = 0; i < 100; ++i) {
      if (rank == 0) step(x);
      else other(x);
      default_device().synchronize();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  for (const auto& failure : failures) {
    EXPECT_PRED2(has, failure, "all_reduce (sum) of f32 (2,) on rank 0 at ");
    EXPECT_PRED2(has, failure, "reduce (sum) with root 0 of f32 (2,) on rank 1 at ");
  }
}

TEST_F(OwnEngine, ARankThatThrowsTellsTheOthers) {
  const auto failures = test::failures_of(3, [](int rank) {
    EXPECT_EQ(dist::all_reduce(ones({2})).to_host(), std::vector<float>(2, 3));
    if (rank == 2) throw Error({.op = "loader", .got = "a broken file"});
    dist::all_reduce(ones({2})).to_host();
  });
  for (const int rank : {0, 1})
    EXPECT_PRED2(has, failures[static_cast<std::size_t>(rank)], "a run that has stopped: rank 2: loader: got a broken file");
}

TEST_F(OwnEngine, ARankThatDoesNotComeIsNamed) {
  std::atomic<int> ended{0};
  const auto failures = test::failures_of(
      3,
      [&](int rank) {
        dist::all_reduce(ones({5})).to_host();
        while (rank == 2 && ended < 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (rank == 2) return;
        try {
          dist::all_reduce(ones({5})).to_host();
        } catch (...) {
          ++ended;
          throw;
        }
      },
      3);
  for (const int rank : {0, 1}) {
    EXPECT_PRED2(has, failures[static_cast<std::size_t>(rank)],
                 "rank 2 did not come to all_reduce of f32 (5,), number 2 of the group of 3 at ");
    EXPECT_PRED2(has, failures[static_cast<std::size_t>(rank)], "within 3 s");
  }
}

TEST_F(OwnEngine, WhatNcclSaysIsTold) {
  const Set set("TEGULA_FAKE_NCCL", "1:2");
  const auto failures = test::failures_of(2, [&](int) {
    dist::all_reduce(ones({2})).to_host();
    dist::all_reduce(ones({2})).to_host();
  });
  EXPECT_PRED2(has, failures[1], "all_reduce of f32 (2,): got NCCL: remote process exited (as it was told to) on rank 1");
  EXPECT_PRED2(has, failures[0], "a run that has stopped: NCCL: remote process exited");
  for (const auto& failure : failures) EXPECT_PRED2(has, failure, "own_engine_test.cpp:");
}

// One of them has all that it waits for, and a number to show: it asks before it does.
TEST_F(OwnEngine, NoNumberIsShownBeforeTheOthersWereCompared) {
  const auto failures = test::failures_of(2, [](int rank) {
    dist::all_reduce(ones({rank + 1})).to_host();
    ADD_FAILURE() << "rank " << rank << " got a number";
  });
  for (const auto& failure : failures) EXPECT_PRED2(has, failure, "f32 (2,) on rank 1 at ");
}

TEST_F(OwnEngine, ABarrierReturnsWhenAllHaveCome) {
  std::atomic<int> come{0};
  test::on_ranks<int>(3, [&](int rank) {
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ++come;
    dist::barrier();
    EXPECT_EQ(come, 3);
    return 0;
  });
}

TEST_F(OwnEngine, AfterAFailureNothingIsExchanged) {
  const auto failures = test::failures_of(2, [](int rank) {
    EXPECT_THROW(dist::all_reduce(ones({rank + 1})).to_host(), Error);
    dist::all_reduce(ones({4})).to_host();
  });
  for (const auto& failure : failures) EXPECT_PRED2(has, failure, "f32 (1,)");
}

// Processes, in which nothing but the exchange happens.
TEST_F(OwnEngine, ARankThatIsKilledEndsTheOthers) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string address = "unix:" + std::filesystem::current_path().string() + "/meeting", said = "said-by-rank-";
  std::vector<pid_t> children;
  for (int rank = 0; rank < 3; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::string text = "nothing was thrown";
      try {
        const std::shared_ptr<dist::Transport> mine = dist::meet({.address = address, .rank = rank, .size = 3, .secret = "s"});
        CommunicatingDevice& device = CommunicatingDevice::create();
        device.card = "GPU of rank " + std::to_string(rank);
        const dist::Group group = dist::group_over(mine);
        const auto call = dist::collective_call(device, group, {Kind::AllReduce, f32, {100}}, {100});
        const Ref<Buffer> x = device.allocate(400), y = device.allocate(400);
        const std::vector<void*> buffers{x->data(), y->data()};
        call->run(buffers, {});
        device.synchronize();
        if (rank == 1) ::kill(::getpid(), SIGKILL);
        call->run(buffers, {});
        device.synchronize();
      } catch (const std::exception& error) { text = error.what(); }
      std::ofstream(said + std::to_string(rank)) << text;
      ::_exit(0);
    }
    children.push_back(child);
  }
  std::vector<int> ends(3);
  for (std::size_t r = 0; r < 3; ++r) ::waitpid(children[r], &ends[r], 0);
  EXPECT_TRUE(WIFSIGNALED(ends[1]));
  for (const int rank : {0, 2}) {
    std::ifstream file(said + std::to_string(rank));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_PRED2(has, text, "all_reduce of f32 (100,)");
    EXPECT_PRED2(has, text, "rank 1 has ended without a word (killed?)");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(200));  // and not after the timeout of 300
}

}  // namespace
}  // namespace tegula
