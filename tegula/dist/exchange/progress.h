#pragma once
// A thread that carries exchanges while the one that began them goes on computing.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace tegula::dist {

/// Work in the order in which it was begun, one after another. The thread begins with the first, and ends when there has been nothing to do for a while.
/// One thread begins and finishes.
class Progress {
 public:
  using Work = std::function<void()>;
  Progress() = default;
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Returns at once, with a number from 1 on.
  std::uint64_t begin(Work work);
  /// Returns when this one and those before it are over. Throws the first exception among them; later exchanges throw the same, and are not done.
  void finish(std::uint64_t ticket);
  /// When all are. Throws nothing.
  void drain() noexcept;

 private:
  void carry();
  void wait(std::unique_lock<std::mutex>& lock, std::uint64_t ticket);

  std::mutex mutex_;
  std::condition_variable begun_, over_;
  std::deque<Work> queue_;
  std::uint64_t last_ = 0, done_ = 0;
  std::exception_ptr failure_;
  std::uint64_t failed_ = 0;  // by this one
  bool runs_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace tegula::dist
