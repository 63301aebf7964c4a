#include "tegula/dist/exchange/progress.h"

#include <chrono>
#include <utility>

namespace tegula::dist {
namespace {
constexpr std::chrono::seconds kIdle{2};
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  begun_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t Progress::begin(Work work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  if (runs_) {
    begun_.notify_one();
  } else {
    thread_ = std::thread([this] { carry(); });
    runs_ = true;
  }
  return ++last_;
}

void Progress::carry() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!begun_.wait_for(lock, kIdle, [&] { return ends_ || !queue_.empty(); }) || queue_.empty()) {
      runs_ = false;  // under the lock: the next begin() starts another thread
      if (!ends_) thread_.detach();  // else it is waited for
      return;
    }
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    if (!failure_) {
      lock.unlock();
      std::exception_ptr failure;
      try {
        work();
      } catch (...) { failure = std::current_exception(); }
      lock.lock();
      if (failure) failure_ = failure, failed_ = done_ + 1;
    }
    ++done_;
    over_.notify_all();
  }
}

void Progress::wait(std::unique_lock<std::mutex>& lock, std::uint64_t ticket) {
  over_.wait(lock, [&] { return done_ >= ticket; });
}

void Progress::finish(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  wait(lock, ticket);
  if (failure_ && failed_ <= ticket) std::rethrow_exception(failure_);
}

void Progress::drain() noexcept {
  std::unique_lock lock(mutex_);
  wait(lock, last_);
}

}  // namespace tegula::dist
