// Ranks that differ, end, or do not come: clear errors, and never a hang.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "tegula/core/error.h"
#include "tegula/dist/exchange/exchange.h"
#include "tegula/dist/transport/endpoint.h"
#include "tegula/dist/transport/environment.h"
#include "tegula/dist/transport/rendezvous.h"
#include "tests/dist/ranks.h"

namespace tegula {
namespace {

using dist::Collective;
using dist::Kind;

void do_it(const Collective& what, Line where = Line::current()) {
  const auto bytes = static_cast<std::size_t>(numel(what.shape)) * size_of(what.dtype) * 16 + 64;
  std::vector<std::byte> in(bytes), out(bytes), scratch(dist::scratch_bytes(what, dist::world().size()) + 64);
  dist::carry_out(dist::world(), what, in.data(), out.data(), scratch.data(), where);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Failures, ShapesThatDifferAreNamedWithBothLines) {
  const auto failures = test::failures_of(3, [](int rank) {
    do_it({Kind::AllReduce, f32, {7}});
    if (rank == 1) do_it({Kind::AllReduce, f32, {3, 5}});
    else do_it({Kind::AllReduce, f32, {3, 4}});
  });
  for (const auto& failure : failures) {  // from rank 1 and whichever neighbour noticed first
    EXPECT_PRED2(has, failure, "failures_test.cpp:");
    EXPECT_PRED2(has, failure, "of f32 (3, 4) on rank ");
    EXPECT_PRED2(has, failure, "of f32 (3, 5) on rank 1 at ");
  }
}

TEST(Failures, OtherCollectivesDtypesAndRootsAreErrors) {
  const auto differ = [](const Collective& a, const Collective& b) {
    return test::failures_of(2, [&](int rank) { do_it(rank == 0 ? a : b); })[0];
  };
  EXPECT_PRED2(has, differ({Kind::AllReduce, f32, {4}}, {Kind::AllGather, f32, {4}}), "all_gather of f32 (4,) on rank 1");
  EXPECT_PRED2(has, differ({Kind::AllReduce, f32, {4}}, {Kind::AllReduce, i32, {4}}), "of i32 (4,) on rank 1");
  EXPECT_PRED2(has, differ({Kind::AllReduce, f32, {4}}, {Kind::AllReduce, f32, {4}, dist::Reduction::Max}), "(max) of f32");
  EXPECT_PRED2(has, differ({Kind::Broadcast, f32, {4}}, {Kind::Broadcast, f32, {4}, {}, 1}), "with root 1 of f32 (4,) on rank 1");
  EXPECT_PRED2(has,
               test::failures_of(2,
                                 [](int rank) {
                                   if (rank == 0) do_it({Kind::Send, f32, {4}, {}, 1});
                                   else do_it({Kind::Receive, f32, {5}, {}, 0});
                                 })[1],
               "send of f32 (4,) on rank 0");
}

TEST(Failures, ARankThatThrowsTellsTheOthers) {
  const auto failures = test::failures_of(3, [](int rank) {
    do_it({Kind::AllReduce, f32, {7}});
    if (rank == 2) throw Error({.op = "loader", .got = "a broken file"});
    do_it({Kind::AllReduce, f32, {7}});
  });
  for (const int rank : {0, 1})
    EXPECT_PRED2(has, failures[static_cast<std::size_t>(rank)], "a run that has stopped: rank 2: loader: got a broken file");
}

TEST(Failures, ARankThatFinishedIsNamed) {
  const auto failures = test::failures_of(2, [](int rank) {
    if (rank == 0) do_it({Kind::Barrier, u8, {0}});
  });
  EXPECT_PRED2(has, failures[0], "rank 1 has finished, while rank 0 waits in barrier");
}

TEST(Failures, AfterAFailureNothingIsExchanged) {
  const auto failures = test::failures_of(2, [](int rank) {
    EXPECT_THROW(do_it({Kind::AllReduce, f32, {rank + 1}}), Error);
    do_it({Kind::AllReduce, f32, {4}});
  });
  for (const auto& failure : failures) EXPECT_PRED2(has, failure, "f32 (1,)");
}

// The rank that is missing is named by all others, though only one of them waits for it directly.
TEST(Failures, TheWatchdogNamesWhoDidNotCome) {
  std::atomic<int> ended{0};
  const auto failures = test::failures_of(
      4,
      [&](int rank) {
        do_it({Kind::AllReduce, f32, {5}});
        while (rank == 2 && ended < 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (rank == 2) return;
        try {
          do_it({Kind::AllReduce, f32, {5}});
        } catch (...) {
          ++ended;
          throw;
        }
      },
      1);
  for (const int rank : {0, 1, 3}) {
    const std::string& failure = failures[static_cast<std::size_t>(rank)];
    EXPECT_PRED2(has, failure, "rank 2 did not come to all_reduce of f32 (5,), number 2 of the group of 4 at ");
    EXPECT_PRED2(has, failure, "within 1 s");
  }
}

TEST(Failures, RanksThatWaitForEachOtherAreTold) {
  const auto failures = test::failures_of(2, [](int rank) { do_it({Kind::Receive, f32, {4}, {}, 1 - rank}); }, 1);
  EXPECT_PRED2(has, failures[0], "all ranks wait for each other");
}

// --- Over sockets between processes.

struct Folder {
  Folder() {
    char pattern[] = "/tmp/tegula-test-XXXXXX";
    path = ::mkdtemp(pattern);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

/// The output and the exit status of a process.
struct Ended {
  std::string said;
  int status = 0;
};
std::vector<Ended> processes(int count, const Folder& folder, const std::function<std::string(int)>& f) {
  std::vector<pid_t> children;
  for (int r = 0; r < count; ++r) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::string said;
      try {
        said = f(r);
      } catch (const std::exception& error) { said = error.what(); }
      std::ofstream(folder.path + "/said" + std::to_string(r)) << said;
      ::_exit(0);
    }
    children.push_back(child);
  }
  std::vector<Ended> ends;
  for (int r = 0; r < count; ++r) {
    Ended end;
    ::waitpid(children[static_cast<std::size_t>(r)], &end.status, 0);
    std::ifstream file(folder.path + "/said" + std::to_string(r));
    end.said.assign(std::istreambuf_iterator<char>(file), {});
    ends.push_back(end);
  }
  return ends;
}

/// Waits for the file, so that the next lines do not depend on how fast processes begin.
void await(const std::string& path) {
  while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

class Meetings : public testing::TestWithParam<std::string> {
 protected:
  // A port that was free a moment ago.
  Meetings()
      : address_(GetParam() == "TCP" ? dist::listen_at("127.0.0.1:0").address
                                     : (GetParam() == "Unix" ? "unix:" : "file:") + folder_.path + "/meeting") {}
  const std::string& address() const { return address_; }
  Folder folder_;
  std::string address_;
};

TEST_P(Meetings, RanksFindEachOtherInAnyOrder) {
  const auto ends = processes(4, folder_, [&](int rank) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    const dist::WorldScope scope(dist::group_over(dist::meet({.address = address(), .rank = rank, .size = 4, .secret = "s"})));
    std::int64_t mine = rank + 1, sum = 0, scratch[8];
    dist::carry_out(dist::world(), {Kind::AllReduce, i64, {}}, &mine, &sum, scratch, {});
    return "sum " + std::to_string(sum);
  });
  for (const auto& end : ends) EXPECT_EQ(end.said, "sum 10");
}

TEST_P(Meetings, AWrongSecretIsSentAway) {
  const auto ends = processes(2, folder_, [&](int rank) -> std::string {
    if (rank == 0) await(folder_.path + "/begins");  // from here on it waits for as long as its patience lasts
    else std::ofstream(folder_.path + "/begins");
    dist::meet({.address = address(), .rank = rank, .size = 2, .secret = rank == 0 ? "this" : "that", .patience = rank == 0 ? 3.0 : 60.0});
    return "met";
  });
  EXPECT_PRED2(has, ends[0].said, "rank 1 did not come to");
  EXPECT_PRED2(has, ends[0].said, "one was sent away: its secret is another one");
  EXPECT_PRED2(has, ends[1].said, "says: its secret is another one than this run's");
  EXPECT_PRED2(has, ends[1].said, "TEGULA_SECRET");
}

TEST_P(Meetings, AWrongNumberOfRanksIsNamedOnBothSides) {
  const auto ends = processes(2, folder_, [&](int rank) -> std::string {
    dist::meet({.address = address(), .rank = rank, .size = rank == 0 ? 2 : 3, .secret = "s", .patience = 20});
    return "met";
  });
  for (const auto& end : ends) EXPECT_PRED2(has, end.said, "rank 1 was started as one of 3 ranks, rank 0 as one of 2");
}

TEST_P(Meetings, ARankThatIsThereTwiceIsAnError) {
  const auto ends = processes(3, folder_, [&](int process) -> std::string {
    dist::meet({.address = address(), .rank = process == 0 ? 0 : 1, .size = 3, .secret = "s", .patience = 3});
    return "met";
  });
  EXPECT_PRED2(has, ends[0].said, "rank 1");
  EXPECT_FALSE(has(ends[0].said, "met"));
}

TEST_P(Meetings, ALateRankFindsNobody) {
  const auto ends = processes(2, folder_, [&](int rank) -> std::string {
    if (rank == 1) await(folder_.path + "/said0");
    dist::meet({.address = address(), .rank = rank, .size = 2, .secret = "s", .patience = 0.2});
    return "met";
  });
  EXPECT_PRED2(has, ends[0].said, "rank 1 did not come to");
  EXPECT_PRED2(has, ends[1].said, "nobody at");
  EXPECT_PRED2(has, ends[1].said, "this rank is too late");
}

TEST_P(Meetings, ARankThatIsKilledEndsTheOthers) {
  const auto begin = std::chrono::steady_clock::now();
  const auto ends = processes(3, folder_, [&](int rank) -> std::string {
    const dist::WorldScope scope(dist::group_over(dist::meet({.address = address(), .rank = rank, .size = 3, .secret = "s"})));
    do_it({Kind::AllReduce, f32, {100}});
    if (rank == 1) ::kill(::getpid(), SIGKILL);
    do_it({Kind::AllReduce, f32, {100}});
    return "done";
  });
  EXPECT_TRUE(WIFSIGNALED(ends[1].status));
  for (const int rank : {0, 2}) {
    EXPECT_PRED2(has, ends[static_cast<std::size_t>(rank)].said, "rank 1 has ended without a word");
    EXPECT_PRED2(has, ends[static_cast<std::size_t>(rank)].said,
                 "all_reduce of f32 (100,), number ");  // 2, or 1 where rank 1 was done with it first
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(200));  // and not after the timeout of 300
}

// Port scanners and health checks: who says nothing, or a byte now and then, costs those who belong to the run nothing.
TEST_P(Meetings, StrangersWhoSayNothingCostNothing) {
  const auto begin = std::chrono::steady_clock::now();
  const auto ends = processes(3, folder_, [&](int process) -> std::string {
    if (process == 2) {  // strangers: 6 that are silent, 6 that drip
      std::vector<dist::Descriptor> strangers;
      while (strangers.size() < 12) {
        if (dist::Descriptor socket = dist::try_connect(address())) strangers.push_back(std::move(socket));
        else std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      std::ofstream(folder_.path + "/begins");
      const auto met = [&](const char* rank) { return std::filesystem::exists(folder_.path + "/said" + rank); };
      for (int i = 0; i < 300 && !(met("0") && met("1")); ++i) {
        for (std::size_t s = 6; s < strangers.size(); ++s) ::send(strangers[s].get(), "\x40\0\0\0xxxx" + std::min(i, 7), 1, MSG_NOSIGNAL);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      return "gone";
    }
    if (process == 1) await(folder_.path + "/begins");
    const dist::WorldScope scope(dist::group_over(dist::meet({.address = address(), .rank = process, .size = 2, .secret = "s"})));
    return "met after " + std::to_string(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 8);
  });
  EXPECT_EQ(ends[0].said, "met after 1");
  EXPECT_EQ(ends[1].said, "met after 1");
}

// One comes every few milliseconds: patience ends all the same.
TEST_P(Meetings, PatienceEndsThoughStrangersKeepComing) {
  const auto begin = std::chrono::steady_clock::now();
  const auto ends = processes(2, folder_, [&](int process) -> std::string {
    if (process == 0) {
      dist::meet({.address = address(), .rank = 0, .size = 2, .secret = "s", .patience = 1.5});
      return "met";
    }
    std::vector<dist::Descriptor> strangers;
    while (!std::filesystem::exists(folder_.path + "/said0") && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
      if (dist::Descriptor socket = dist::try_connect(address())) strangers.push_back(std::move(socket));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return std::to_string(strangers.size() > 5);
  });
  EXPECT_PRED2(has, ends[0].said, "rank 1 did not come to");
  EXPECT_EQ(ends[1].said, "1");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

INSTANTIATE_TEST_SUITE_P(Sockets, Meetings, testing::Values("TCP", "Unix", "File"), [](const auto& info) { return info.param; });

// A file left by an earlier run that was killed is no address of this one.
TEST(Meetings, AFileOfARunThatWasKilledIsReplaced) {
  const Folder folder;
  const std::string path = folder.path + "/meeting";
  std::ofstream(path) << dist::listen_at("127.0.0.1:0").address << "\n";  // nothing listens there any more
  const auto ends = processes(2, folder, [&](int rank) -> std::string {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    dist::meet({.address = "file:" + path, .rank = rank, .size = 2, .secret = "s"});
    return "met";
  });
  for (const auto& end : ends) EXPECT_EQ(end.said, "met");
  EXPECT_FALSE(std::filesystem::exists(path)) << "it goes with the meeting";
}

TEST(Meetings, AnAddressThatIsNoneIsAnError) {
  for (const char* address : {"nowhere", "host:", "unix:", "file:", "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:http"}) {
    for (const int rank : {0, 1}) {
      try {
        dist::meet({.address = address, .rank = rank, .size = 2, .secret = "s", .patience = 1});
        ADD_FAILURE() << address;
      } catch (const Error& error) { EXPECT_PRED2(has, error.what(), "expected an address such as ") << address; }
    }
  }
  EXPECT_THROW(dist::meet({.address = "unix:/tmp/x", .rank = 2, .size = 2}), Error);
}

std::optional<dist::RankSettings> place_in(std::map<std::string, std::string> variables) {
  return dist::find_rank([variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Environment, WhoStartedTheRanksIsRecognised) {
  EXPECT_FALSE(place_in({}));
  EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}));
  const auto ours = place_in({{"TEGULA_RANK", "1"},
                              {"TEGULA_SIZE", "4"},
                              {"TEGULA_RENDEZVOUS", "unix:/tmp/a"},
                              {"TEGULA_TIMEOUT", "7.5"},
                              {"SLURM_PROCID", "3"},
                              {"SLURM_NTASKS", "9"}});
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->rank, 1);
  EXPECT_EQ(ours->size, 4);
  EXPECT_EQ(ours->engine, "sockets");
  EXPECT_EQ(ours->timeout, 7.5);
  const auto slurm = place_in({{"SLURM_PROCID", "3"},
                               {"SLURM_NTASKS", "8"},
                               {"SLURM_LOCALID", "1"},
                               {"SLURM_STEP_NODELIST", "gpu[07-09,12],x"},
                               {"SLURM_JOB_ID", "41234"}});
  EXPECT_EQ(slurm->rendezvous, "gpu07:21234");
  EXPECT_EQ(slurm->local_rank, 1);
  EXPECT_EQ(slurm->started_by, "srun");
  EXPECT_EQ(place_in({{"TEGULA_RANK", "0"}, {"TEGULA_SIZE", "2"}, {"TEGULA_RENDEZVOUS", "a:1"}, {"TEGULA_ENGINE", "nccl"}})->engine,
            "sockets");
  const auto mpi = place_in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_EQ(mpi->engine, "mpi");
  EXPECT_EQ(place_in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"TEGULA_RENDEZVOUS", "a:1"}})->engine, "sockets");
  EXPECT_EQ(place_in({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "29500"}})->rendezvous, "h:29501");
}

TEST(Environment, ContradictionsAreErrors) {
  EXPECT_THROW(place_in({{"TEGULA_RANK", "1"}}), Error);
  EXPECT_THROW(place_in({{"TEGULA_RANK", "2"}, {"TEGULA_SIZE", "2"}, {"TEGULA_RENDEZVOUS", "a:1"}}), Error);
  EXPECT_THROW(place_in({{"TEGULA_RANK", "one"}, {"TEGULA_SIZE", "2"}}), Error);
  EXPECT_THROW(place_in({{"TEGULA_RANK", "1"}, {"TEGULA_SIZE", "2"}}), Error);  // no rendezvous
  EXPECT_THROW(place_in({{"TEGULA_RANK", "1"}, {"TEGULA_SIZE", "2"}, {"TEGULA_RENDEZVOUS", "a:1"}, {"TEGULA_ENGINE", "pigeons"}}), Error);
  EXPECT_THROW(place_in({{"TEGULA_RANK", "1"}, {"TEGULA_SIZE", "2"}, {"TEGULA_RENDEZVOUS", "a:1"}, {"TEGULA_TIMEOUT", "-1"}}), Error);
}

}  // namespace
}  // namespace tegula
