#pragma once
// Variables in several threads: while a jit-ed function runs, nobody else writes the Variables it reads or touches those it writes.
//
// Every jit-ed function that uses Variables has a gate. It runs while it holds its own and those of the functions that write one of its
// Variables. A read outside of functions waits at the gates of those that write the Variable and takes a handle; an assignment outside waits
// at those of all that use it. What a handle holds stays as it is: a function that finds the value of a Variable shared writes elsewhere.
// So a Variable that no function writes costs its readers a flag, and a run one gate of its own, whatever the number of Variables.

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

/// What a jit-ed function has to hold to run with these cells.
class Admission {
 public:
  Admission() = default;
  /// Makes known that the function with this gate uses these cells and writes some of them (indices); waits for who runs with one of them.
  Admission(std::shared_ptr<Gate> gate, std::span<const Ref<Cell>> cells, std::span<const int> written);
  /// Its gate and those of the functions that write one of its cells. Lives shorter than this.
  Passage enter();

 private:
  std::shared_ptr<Gate> gate_;
  std::vector<Ref<Cell>> cells_;
  Gates gates_;
  std::uint64_t known_ = 0;  // the announcements that gates_ is made from
};

/// What a read of the cell outside of functions waits at.
Gates gates_of_writers(const Cell& cell);
/// An assignment outside of functions: `write` happens while none of those that use the cell runs, and none becomes known.
void when_unused(const Cell& cell, const std::function<void()>& write);

}  // namespace tegula
