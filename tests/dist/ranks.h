#pragma once
// Ranks that are threads of the test. TEGULA_TEST_DEVICE=queued: each with a device that queues its work; =communicating: and exchanges by the pretended NCCL.

#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tegula/dist/exchange/group.h"
#include "tegula/dist/transport/sockets.h"
#include "tegula/runtime/registry.h"
#include "tests/support/communicating_device.h"
#include "tests/support/queued_device.h"

namespace tegula::test {

/// The device of a rank, or null for the CPU.
inline runtime::Device* device_of_rank() {
  const char* const value = std::getenv("TEGULA_TEST_DEVICE");
  const std::string_view name = value ? value : "";
  if (name == "communicating") return &CommunicatingDevice::create();
  return name == "queued" ? &QueuedDevice::create() : nullptr;
}

/// True if the device queues its work.
inline bool ranks_queue() {
  const char* const value = std::getenv("TEGULA_TEST_DEVICE");
  return value && (std::string_view(value) == "queued" || std::string_view(value) == "communicating");
}

/// Runs f(rank) on `size` threads, each with a world of its own. Returns each thread's error, or "".
inline std::vector<std::string> failures_of(int size, const std::function<void(int)>& f, double timeout = 60) {
  auto transports = dist::local_transports(size, timeout);
  std::vector<std::string> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      try {
        const dist::WorldScope scope(dist::group_over(std::move(transports[static_cast<std::size_t>(r)])));
        std::optional<DeviceScope> device;
        if (runtime::Device* const own = device_of_rank()) device.emplace(*own);
        try {
          f(r);
          default_device().synchronize();  // runs queued work that nothing reads
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

/// The same, expecting no failure: the results of all ranks.
template <class T>
std::vector<T> on_ranks(int size, const std::function<T(int)>& f, double timeout = 60) {
  std::vector<T> results(static_cast<std::size_t>(size));
  const auto failures = failures_of(size, [&](int rank) { results[static_cast<std::size_t>(rank)] = f(rank); }, timeout);
  for (const auto& failure : failures) EXPECT_EQ(failure, "");
  return results;
}

}  // namespace tegula::test
