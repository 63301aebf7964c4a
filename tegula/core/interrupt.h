#pragma once
// Ctrl-C as a request: a training finishes its step, saves, and ends.

namespace tegula {

/// From now on the first Ctrl-C (SIGINT) or SIGTERM is a request, which interrupted() tells; loops look at it where they can stop:
///   stop_on_interrupt();
///   while (!interrupted() && step < steps) train_step();
///   save(net, "net.safetensors");
/// A second one has its previous effect, which ends a program without handlers of its own. A signal that is ignored (nohup) stays ignored. The
/// handler interrupts no system call (SA_RESTART) and uses the thread's alternate stack where there is one. Thread-safe.
void stop_on_interrupt();

/// The number of the signal that asked the program to stop, 0 while none has. Costs a load.
int interrupted();

/// The same while one lives; the outermost scope forgets an earlier request when it begins, and gives the handlers back when it ends.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

}  // namespace tegula
