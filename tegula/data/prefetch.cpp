#include "tegula/data/prefetch.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "tegula/core/warning.h"

namespace tegula::data {
namespace {

struct Job {
  Prefetch::Make make;
  std::vector<HostArray> made;
  std::exception_ptr error;
  bool done = false;

  void run() noexcept {
    try {
      made = make();
    } catch (...) { error = std::current_exception(); }
  }
};
using JobPointer = std::shared_ptr<Job>;

}  // namespace

struct Prefetch::Impl {
  mutable std::mutex mutex;
  std::condition_variable asked, made;
  std::deque<JobPointer> begun_or_waiting;  // in the order of the questions
  std::deque<JobPointer> waiting;           // those of them that have not begun
  bool ends = false;
  std::vector<std::thread> threads;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      asked.wait(lock, [&] { return ends || !waiting.empty(); });
      if (ends) return;
      const JobPointer job = waiting.front();
      waiting.pop_front();
      lock.unlock();
      job->run();
      lock.lock();
      job->done = true;
      made.notify_all();
    }
  }
};

Prefetch::Prefetch(int workers) : impl_(std::make_unique<Impl>()) {
  try {
    for (int i = 0; i < workers; ++i) impl_->threads.emplace_back([this] { impl_->work(); });
  } catch (const std::system_error& error) {
    warn("loader.threads", "the system gave " + std::to_string(impl_->threads.size()) + " of " + std::to_string(workers) +
                               " threads for loading: " + error.what());
  }
}

Prefetch::~Prefetch() {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->ends = true;
  }
  impl_->asked.notify_all();
  for (std::thread& thread : impl_->threads) thread.join();
}

void Prefetch::ask(Make make) {
  const auto job = std::make_shared<Job>();
  job->make = std::move(make);
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->begun_or_waiting.push_back(job);
    impl_->waiting.push_back(job);
  }
  impl_->asked.notify_one();
}

std::size_t Prefetch::waiting() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->begun_or_waiting.size();
}

std::vector<HostArray> Prefetch::take() {
  std::unique_lock lock(impl_->mutex);
  const JobPointer job = impl_->begun_or_waiting.front();
  impl_->begun_or_waiting.pop_front();
  if (!impl_->waiting.empty() && impl_->waiting.front() == job) {  // not begun: done here
    impl_->waiting.pop_front();
    lock.unlock();
    job->run();
  } else {
    impl_->made.wait(lock, [&] { return job->done; });
  }
  if (job->error) std::rethrow_exception(job->error);
  return std::move(job->made);
}

void Prefetch::forget() {
  const std::scoped_lock lock(impl_->mutex);
  impl_->begun_or_waiting.clear();
  impl_->waiting.clear();
}

}  // namespace tegula::data
