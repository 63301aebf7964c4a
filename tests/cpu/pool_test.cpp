// The CPU's thread pool: every part runs once, no thread waits for one that does not come, refusals and forks are survived.

#include "tegula/cpu/pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

/// A number of threads for one test.
class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

void expect_every_part_once(int parts) {
  std::vector<std::atomic<int>> runs(static_cast<std::size_t>(parts));
  parallel(parts, [&](int part, int count) {
    EXPECT_EQ(count, parts);
    ++runs[static_cast<std::size_t>(part)];
  });
  for (int part = 0; part < parts; ++part) ASSERT_EQ(runs[static_cast<std::size_t>(part)], 1) << "part " << part << " of " << parts;
}

/// Runs it in a child and expects it to return true there within a minute.
template <class F>
void expect_in_child(F&& work) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // a child that hangs is killed
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Pool, RunsEveryPartOnce) {
  for (const int threads : {1, 2, 5}) {
    const Threads scope(threads);
    for (const int parts : {1, 2, 3, 5, 17, kMostParts, kMostParts + 1}) expect_every_part_once(parts);
    for (int i = 0; i < 20'000; ++i) expect_every_part_once(threads);
  }
}

TEST(Pool, ServesCallersOnSeveralThreads) {
  const Threads scope(3);
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([] {
      for (int i = 0; i < 5'000; ++i) expect_every_part_once(3);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(Pool, WorkInsideOfAPartIsDoneThere) {
  const Threads scope(4);
  for (int i = 0; i < 500; ++i) {
    std::atomic<int> runs = 0;
    parallel(4, [&](int, int) {
      const auto own = std::this_thread::get_id();
      parallel(3, [&](int, int) {
        EXPECT_EQ(std::this_thread::get_id(), own);
        ++runs;
      });
    });
    ASSERT_EQ(runs, 12);
  }
}

TEST(Pool, ThrowsWhatAPartThrows) {
  const Threads scope(3);
  for (int bad = 0; bad < 3; ++bad) {
    std::atomic<int> runs = 0;
    EXPECT_THROW(parallel(3,
                          [&](int part, int) {
                            ++runs;
                            if (part == bad) throw std::bad_alloc();
                          }),
                 std::bad_alloc);
    EXPECT_EQ(runs, 3) << "the other parts have ended when it is thrown";
    expect_every_part_once(3);
  }
}

// With every worker asleep or held up the caller finds all parts free: it must not wait for them.
TEST(Pool, TheCallerDoesWhatNobodyHasBegun) {
  const Threads scope(2);
  expect_every_part_once(2);
  std::atomic<bool> hold = true, held = false;
  std::thread other([&] {  // keeps the worker (or this thread) in a part
    parallel(2, [&](int, int) {
      held = true;
      while (hold) std::this_thread::yield();
    });
  });
  while (!held) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) expect_every_part_once(2);
  hold = false;
  other.join();
}

TEST(Pool, AForkedChildHasThreadsOfItsOwn) {
  const Threads scope(3);
  expect_every_part_once(3);
  ASSERT_GE(pool_workers(), 2);
  expect_in_child([] {
    if (pool_workers() != 0) return false;
    std::atomic<int> runs = 0;
    for (int i = 0; i < 1'000; ++i) parallel(3, [&](int, int) { ++runs; });
    return runs == 3'000 && pool_workers() == 2;
  });
  expect_every_part_once(3);
}

TEST(Pool, ThreadsThatTheSystemRefusesAreDoneWithout) {
  expect_in_child([] {
    // No user may have more threads; root may always, so the child changes its user.
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || (getuid() == 0 && setuid(65534) != 0)) return false;
    std::string warned;
    set_warning_handler([&](const std::string& name, const std::string& text) { warned = name + ": " + text; });
    set_num_threads(4);
    std::atomic<int> runs = 0;
    for (int i = 0; i < 100; ++i) parallel(4, [&](int, int) { ++runs; });
    return runs == 400 && pool_workers() == 0 && warned.find("cpu.threads: the system refused thread 2 of 4") == 0;
  });
}

// Also where the machine has more processors: a call made for another number would run on one thread, or differ in its bits.
TEST(Threads, CallsAreMadeForTheirNumber) {
  for (const int count : {1, 2, 7}) {
    const Threads scope(count);
    EXPECT_EQ(library_threads(), count);
  }
}

TEST(Threads, AreAtLeastOne) {
  EXPECT_THROW(set_num_threads(0), Error);
  EXPECT_THROW(set_num_threads(-3), Error);
  EXPECT_THROW(set_num_threads(kMostParts + 1), Error);
  EXPECT_GE(num_threads(), 1);
}

}  // namespace
}  // namespace tegula::host
