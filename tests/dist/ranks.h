#pragma once
// Ranks that are threads of the test.

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tegula/dist/group.h"
#include "tegula/dist/sockets.h"

namespace tegula::test {

/// f(rank) on so many threads, each with a world of its own. What each threw, or "".
inline std::vector<std::string> failures_of(int size, const std::function<void(int)>& f, double timeout = 60) {
  auto transports = dist::local_transports(size, timeout);
  std::vector<std::string> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      try {
        const dist::WorldScope scope(dist::group_over(std::move(transports[static_cast<std::size_t>(r)])));
        try {
          f(r);
        } catch (const std::exception& error) {
          failures[static_cast<std::size_t>(r)] = error.what();
          dist::stop_others(error.what());
        }
      } catch (const std::exception& error) { failures[static_cast<std::size_t>(r)] = error.what(); }
    });
  }
  for (auto& thread : threads) thread.join();
  return failures;
}

/// The same, where nobody throws: results of all ranks.
template <class T>
std::vector<T> on_ranks(int size, const std::function<T(int)>& f, double timeout = 60) {
  std::vector<T> results(static_cast<std::size_t>(size));
  const auto failures = failures_of(size, [&](int rank) { results[static_cast<std::size_t>(rank)] = f(rank); }, timeout);
  for (const auto& failure : failures) EXPECT_EQ(failure, "");
  return results;
}

}  // namespace tegula::test
