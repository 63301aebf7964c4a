#include "tegula/cpu/pool.h"

#include <omp.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "tegula/core/error.h"
#include "tegula/core/signals.h"
#include "tegula/core/warning.h"
#include "tegula/runtime/threads.h"

namespace tegula::host {
namespace {

using Clock = std::chrono::steady_clock;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Sleeps while the word has this value; may return early. Not std::atomic's wait: GCC's yields its processor first, which beside busy
/// processes costs the time slice.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
#if defined(__linux__)
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
#else
  word.wait(value);
#endif
}
void wake(std::atomic<std::uint32_t>& word, [[maybe_unused]] int sleepers) {
#if defined(__linux__)
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, sleepers, nullptr, nullptr, 0);
#else
  word.notify_all();
#endif
}

/// The time for which this thread has had a processor.
Clock::duration computed() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0) return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
#endif
  return Clock::now().time_since_epoch();
}

/// Detects that other processes want our processors: two of our threads (or one twice) lost theirs within a short time, each for longer
/// than the system's own work takes, which an idle machine has too.
class Neighbours {
 public:
  bool noticed(Clock::time_point now) const { return now.time_since_epoch().count() < noticed_until_.load(std::memory_order_relaxed); }
  /// One of our threads has found that it had lost its processor.
  void disturb(Clock::time_point now) {
    const auto time = now.time_since_epoch().count();
    const auto last = last_.exchange(time, std::memory_order_relaxed);
    if (time - last < Clock::duration(kTogether).count())
      noticed_until_.store(time + Clock::duration(kRemembered).count(), std::memory_order_relaxed);
  }

 private:
  static constexpr std::chrono::milliseconds kTogether{50}, kRemembered{500};
  std::atomic<Clock::rep> last_{Clock::rep{0}}, noticed_until_{0};
};
Neighbours neighbours;

/// Watches for a change without sleeping, for longer than a small step takes; beside busy processes for a moment only, because a watcher
/// uses up the time that the system has for us.
class Patience {
 public:
  /// Waits until changed() or out of patience; says which.
  template <class F>
  bool watch(F&& changed) {
    Clock::time_point begin{};
    if (rested_) next_look_ = {};
    for (int round = 0;; ++round) {
      for (int i = 0; i < 32; ++i) {
        if (changed()) return true;
        relax();
      }
      const auto now = Clock::now();
      if (round == 0) begin = now;
      if (now >= next_look_) look(now);
      if (neighbours.noticed(now) || now - begin > kLongest) {
        rested_ = true;  // a thread that waited in vain sleeps
        return false;
      }
    }
  }

 private:
  static constexpr std::chrono::microseconds kLongest{1000}, kBetweenLooks{200}, kLong{700};

  // Without a processor for long, and for more than a tenth of the time since the look before; sleep does not count.
  void look(Clock::time_point now) {
    next_look_ = now + kBetweenLooks;
    const Clock::duration passed = now - std::exchange(last_look_, now), all = computed();
    const Clock::duration lost = passed - (all - std::exchange(computed_, all));
    if (!std::exchange(rested_, false) && lost > kLong && lost > passed / 10) neighbours.disturb(now);
  }

  bool rested_ = true;
  Clock::duration computed_{};
  Clock::time_point last_look_{}, next_look_{};
};

class Pool {
 public:
  void run(int parts, Task function, const void* context) {
    if (parts > kMostParts || busy_.exchange(true, std::memory_order_acquire)) return run_alone(parts, function, context);
    start(std::min(parts, num_threads()) - 1);
    if (workers_ == 0) {
      busy_.store(false, std::memory_order_release);
      return run_alone(parts, function, context);
    }
    function_ = function, context_ = context, failure_ = nullptr;
    failed_.store(false, std::memory_order_relaxed);
    std::uint32_t job = job_.load(std::memory_order_relaxed) + 1;
    if (job == 0) job = 1;  // a claim of 0 is taken
    left_.store(static_cast<std::uint32_t>(parts), std::memory_order_relaxed);
    parts_.store(parts, std::memory_order_relaxed);
    for (int part = 1; part < parts; ++part) claim_[index(part)].store(job, std::memory_order_release);
    job_.store(job, std::memory_order_seq_cst);
    if (const int sleeping = sleeping_.load(std::memory_order_seq_cst); sleeping > 0) wake(job_, sleeping);

    call(0);
    std::uint32_t done = 1;
    for (int part = parts - 1; part > 0; --part) done += take(part, job) ? 1 : 0;
    if (left_.fetch_sub(done, std::memory_order_acq_rel) != done) wait_for_others();
    const std::exception_ptr failure = failed_.load(std::memory_order_relaxed) ? std::exchange(failure_, nullptr) : nullptr;
    busy_.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
  }

  /// The child of a fork has the forking thread only.
  void forget_threads() {
    workers_ = 0;
    refused_ = false;
    sleeping_.store(0);
    caller_sleeps_.store(false);
    for (auto& claim : claim_) claim.store(0);
    busy_.store(false);
  }

  int workers() const { return workers_.load(std::memory_order_relaxed); }

 private:
  static std::size_t index(int part) { return static_cast<std::size_t>(part); }

  static void run_alone(int parts, Task function, const void* context) {
    for (int part = 0; part < parts; ++part) function(context, part);
  }

  /// Called by the caller whose turn it is.
  void start(int wanted) {
    if (workers_ >= wanted || refused_) return;
    const HeldSignals held;  // which the workers inherit: no handler runs on their stacks before they hold signals themselves
    std::string reason;
    while (workers_ < wanted && !refused_) {
      try {
        std::thread([this, number = workers_ + 1, seen = job_.load()] { work(number, seen); }).detach();
        ++workers_;
      } catch (const std::system_error& error) {
        refused_ = true;
        reason = error.what();
      }
    }
    if (refused_) {
      warn("cpu.threads", "the system refused thread " + std::to_string(workers_ + 2) + " of " + std::to_string(wanted + 1) + " (" +
                              reason + "): work is shared by " + std::to_string(workers_ + 1));
    }
  }

  void call(int part) noexcept {
    try {
      function_(context_, part);
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
    }
  }

  bool take(int part, std::uint32_t job) {
    std::uint32_t open = job;
    auto& claim = claim_[index(part)];
    if (claim.load(std::memory_order_relaxed) != job || !claim.compare_exchange_strong(open, 0, std::memory_order_acquire)) return false;
    call(part);
    return true;
  }

  void wait_for_others() {
    const auto ended = [this] { return left_.load(std::memory_order_acquire) == 0; };
    thread_local Patience patience;
    if (patience.watch(ended)) return;
    caller_sleeps_.store(true, std::memory_order_seq_cst);
    for (std::uint32_t left = left_.load(std::memory_order_seq_cst); left != 0; left = left_.load(std::memory_order_acquire)) {
      sleep_while(left_, left);
    }
    caller_sleeps_.store(false, std::memory_order_relaxed);
  }

  [[noreturn]] void work(int number, std::uint32_t seen) {
    HeldSignals::for_good();  // signals are for the program's own threads
    omp_set_num_threads(1);  // oneDNN runs a part's work on this thread
    Patience patience;
    for (;;) {
      const auto changed = [&] { return job_.load(std::memory_order_acquire) != seen; };
      if (!patience.watch(changed)) {
        sleeping_.fetch_add(1, std::memory_order_seq_cst);
        while (!changed()) sleep_while(job_, seen);
        sleeping_.fetch_sub(1, std::memory_order_relaxed);
      }
      seen = job_.load(std::memory_order_acquire);
      const int parts = parts_.load(std::memory_order_relaxed);
      // Its own part first, so that memory it has in its caches is met again.
      std::uint32_t done = number < parts && take(number, seen) ? 1 : 0;
      for (int part = 1; part < parts; ++part) done += part != number && take(part, seen) ? 1 : 0;
      if (done == 0 || left_.fetch_sub(done, std::memory_order_seq_cst) != done) continue;
      if (caller_sleeps_.load(std::memory_order_seq_cst)) wake(left_, 1);
    }
  }

  // A job. A thread that has claimed one of its parts may read the plain fields: they are not written until that part has ended.
  Task function_ = nullptr;
  const void* context_ = nullptr;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::array<std::atomic<std::uint32_t>, kMostParts> claim_{};  // the job for which a part can still be taken
  alignas(64) std::atomic<std::uint32_t> job_{0};               // its number; what idle workers watch
  std::atomic<int> parts_{0};
  alignas(64) std::atomic<std::uint32_t> left_{0};  // parts that have not ended
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<int> sleeping_{0};  // workers
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<int> workers_{0};
  bool refused_ = false;
};

/// The pool, never destroyed: its threads run until the process ends.
Pool& pool() {
  static Pool& instance = []() -> Pool& {
    pthread_atfork(nullptr, nullptr, [] { pool().forget_threads(); });
    return *new Pool;
  }();
  return instance;
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{std::clamp(std::min(omp_get_max_threads(), omp_get_thread_limit()), 1, kMostParts)};
  return count;
}

}  // namespace

void run_parts(int parts, Task function, const void* context) { pool().run(parts, function, context); }
int pool_workers() { return pool().workers(); }

}  // namespace tegula::host

namespace tegula {

int num_threads() { return host::thread_count().load(std::memory_order_relaxed); }

void set_num_threads(int threads, Line where) {
  if (threads < 1 || threads > host::kMostParts) {
    throw Error(
        {.op = "set_num_threads", .got = std::to_string(threads), .expected = "1 to " + std::to_string(host::kMostParts), .where = where});
  }
  host::thread_count().store(threads, std::memory_order_relaxed);
}

}  // namespace tegula
