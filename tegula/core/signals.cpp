#include "tegula/core/signals.h"

#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace tegula {
namespace {

/// One kind of scope on one thread: how many are open, and the mask from before the outermost one.
struct Depth {
  int scopes = 0;
  sigset_t before{};

  void open(const sigset_t& held) {
    if (scopes++ == 0) pthread_sigmask(SIG_BLOCK, &held, &before);
  }
  void close() {
    if (--scopes == 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
};

thread_local constinit Depth all_depth, interrupt_depth;

const sigset_t& all_signals() {
  static const sigset_t set = [] {
    sigset_t made;
    sigfillset(&made);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&made, own);
    return made;
  }();
  return set;
}

const sigset_t& interrupts() {
  static const sigset_t set = [] {
    sigset_t made;
    sigemptyset(&made);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&made, number);
    return made;
  }();
  return set;
}

}  // namespace

HeldSignals::HeldSignals() { all_depth.open(all_signals()); }
HeldSignals::~HeldSignals() { all_depth.close(); }
void HeldSignals::for_good() { all_depth.open(all_signals()); }

HeldInterrupts::HeldInterrupts() { interrupt_depth.open(interrupts()); }
HeldInterrupts::~HeldInterrupts() { interrupt_depth.close(); }

}  // namespace tegula
