#include "tegula/core/interrupt.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <string_view>

namespace tegula {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};
static_assert(std::atomic<int>::is_always_lock_free);  // the handler uses it

std::atomic<int> request{0};
std::array<struct sigaction, kSignals.size()> before;  // written while no handler of ours is installed
std::mutex installing;
int scopes = 0;  // under the mutex

extern "C" void take_request(int number);

bool is_ours(int number) {
  struct sigaction now{};
  return sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == take_request;
}

/// Async-signal-safe. A handler that was installed over ours stays.
void give_back() {
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    if (is_ours(kSignals[i])) sigaction(kSignals[i], &before[i], nullptr);
}

extern "C" void take_request(int number) {
  const int error = errno;
  give_back();  // the next one has its previous effect
  request.store(number, std::memory_order_relaxed);
  constexpr std::string_view kText = "\ntegula: stopping after this step; again to end at once\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
  errno = error;
}

void install() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (is_ours(kSignals[i])) continue;
    sigaction(kSignals[i], nullptr, &before[i]);
    if ((before[i].sa_flags & SA_SIGINFO) == 0 && before[i].sa_handler == SIG_IGN) continue;
    struct sigaction ours{};
    ours.sa_handler = take_request;
    ours.sa_flags = SA_ONSTACK | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    for (const int number : kSignals) sigaddset(&ours.sa_mask, number);
    sigaction(kSignals[i], &ours, nullptr);
  }
}

void enter() {
  const std::scoped_lock lock(installing);
  if (scopes++ > 0) return;
  request.store(0, std::memory_order_relaxed);
  install();
}

}  // namespace

void stop_on_interrupt() {
  static const bool once = [] {
    enter();  // for good
    return true;
  }();
  static_cast<void>(once);
}

int interrupted() { return request.load(std::memory_order_relaxed); }

InterruptScope::InterruptScope() { enter(); }

InterruptScope::~InterruptScope() {
  const std::scoped_lock lock(installing);
  if (--scopes == 0) give_back();
}

}  // namespace tegula
