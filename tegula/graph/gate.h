#pragma once
// Variables in several threads: while a jit-ed function runs, no other thread writes the Variables it reads or touches those it writes.
//
// Every jit-ed function that uses Variables has a gate. A function runs while it holds its own gate and those of the functions that write one of its
// Variables. A read outside of functions waits at the gates of the functions that write the Variable, and takes a handle; an assignment outside
// waits at the gates of all functions that use it. A handle's value never changes: a function that finds a Variable's value shared writes to other memory.
// A Variable that no function writes therefore costs its readers one flag, and a run locks one gate of its own, whatever the number of Variables.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tegula/graph/variable.h"

namespace tegula {

struct Gate {
  std::mutex mutex;
};
using Gates = std::vector<std::shared_ptr<Gate>>;

/// Holds gates until it dies.
class Passage {
 public:
  /// Waits for them; they are listed by address and outlive it.
  explicit Passage(const Gates& gates);
  Passage(const Gates& gates, std::adopt_lock_t) : gates_(gates) {}
  ~Passage();
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

 private:
  const Gates& gates_;
};

/// The gates that a jit-ed function with these cells must hold to run.
class Admission {
 public:
  Admission() = default;
  /// Announces that the function with this gate uses these cells and writes some of them (indices); waits for functions running with one of them.
  Admission(std::shared_ptr<Gate> gate, std::span<const Ref<Cell>> cells, std::span<const int> written);
  /// Its gate and those of the functions that write one of its cells. Lives shorter than this.
  Passage enter();

 private:
  std::shared_ptr<Gate> gate_;
  std::vector<Ref<Cell>> cells_;
  Gates gates_;
  std::uint64_t known_ = 0;  // the announcements that gates_ is made from
};

/// The gates that a read of the cell outside of functions must wait at.
Gates gates_of_writers(const Cell& cell);
/// An assignment outside of functions: `write` happens while no function that uses the cell runs, and none becomes known.
void when_unused(const Cell& cell, const std::function<void()>& write);

}  // namespace tegula
