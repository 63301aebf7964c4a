#pragma once
// TEGULA_CHECK: checks at run time, a comma list in the environment.

#include <cstdint>
#include <string_view>

namespace tegula {

enum class Check : std::uint8_t {
  Jit,     // every call of a jit-ed function is traced and compared (compile/jit.h)
  Plan,    // every plan is proved before it runs (compile/plan/check_plan.h)
  Memory,  // memory that holds nothing is filled with a pattern between steps (compile/run/poison.h)
  Nan,     // a non-finite value is traced to the op that made it (graph/nonfinite.h)
  Tile,  // kernels of a user's own read and write only elements of their tensors, and store each one of their results (ops/tile_kernel.h)
};

/// True if TEGULA_CHECK names the check. The variable is read at the first call; an unknown word gives a warning.
bool checking(Check check);
void set_checking(Check check, bool on);
/// Makes this copy of the library (libtegula_cuda.so has one) ask the program's checks instead of its own; nullptr: its own again.
void ask_for_checks(bool (*program)(Check check));

/// Turns a check on, or off, for its lifetime; the check is then as it was before.
class Checking {
 public:
  explicit Checking(Check check, bool on = true) : check_(check), before_(checking(check)) { set_checking(check, on); }
  ~Checking() { set_checking(check_, before_); }
  Checking(const Checking&) = delete;
  Checking& operator=(const Checking&) = delete;

 private:
  Check check_;
  bool before_;
};

/// Returns the checks that a list names; `unknown` is called with every other word.
std::uint32_t parse_checks(std::string_view list, void (*unknown)(std::string_view word));

}  // namespace tegula
