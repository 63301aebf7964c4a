#pragma once
// Signals that wait: a thread that must not run handlers for a moment.

namespace tegula {

/// While one lives, the calling thread runs no signal handlers, except for signals that its own instructions raise (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS,
/// SIGABRT). Other threads take a signal in the meantime, or it waits. Scopes nest; an inner one costs nothing, an outermost one two system calls (0.3 µs).
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// The same until the calling thread ends: for threads that the library starts. Threads that it starts inherit it.
  static void for_good();
};

/// While one lives, what asks the program to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT) waits on the calling thread: a file is written whole, or removed.
class HeldInterrupts {
 public:
  HeldInterrupts();
  ~HeldInterrupts();
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;
};

}  // namespace tegula
