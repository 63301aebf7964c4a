#pragma once
// The places of a loop's values in each turn: data, made once with the enclosing plan.

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/graph/node.h"
#include "tegula/graph/regions/loop_op.h"

namespace tegula::compile {

struct LoopSchedule {
  using Input = LoopOp::Input;
  /// The source of a result of the body: an output of its plan, or an unchanged parameter. -1: neither.
  struct Source {
    int output = -1, parameter = -1;
    bool operator==(const Source&) const = default;
  };

  std::int64_t length = 0;
  bool reverse = false;
  int ends = -1;  // a carried boolean, (): once it is false, turns change nothing. -1: none
  std::vector<Input> inputs;  // of the body's parameters: carried values come first
  std::size_t carries = 0;
  std::vector<bool> wanted;  // of the results: the last value of each carried one, then stacks
  std::vector<bool> needed;  // those, and what a turn reads for them
  std::vector<std::size_t> parameter_bytes, result_bytes;
  std::vector<Source> sources;               // of the results that are needed
  std::vector<std::size_t> leaf_parameters;  // of each leaf of the body's plan
  std::vector<int> stacked, begins, last_of;  // of each output: the results where it may be written, or -1
  std::vector<std::size_t> output_bytes;
  std::vector<std::size_t> output_places, carry_places;  // in the scratch memory: two places each, used in turn
  std::size_t arena = 0;                                 // where in the scratch memory that of the body begins
  std::size_t scratch_bytes = 0;                         // of both

  bool operator==(const LoopSchedule&) const = default;

  /// True if a carried value is another one's value of the turn before, which the next turn overwrites.
  bool moves(std::size_t carry) const;
};

/// The schedule without the fields that the body's plan fills (leaf_parameters, arena), and the nodes that the plan computes.
struct ScheduledLoop {
  LoopSchedule schedule;
  std::vector<const Node*> outputs;
};
ScheduledLoop schedule_loop(const LoopOp& loop, const std::vector<bool>& wanted);

/// Two places for each output and each carried value that moves; `schedule` knows the bytes of parameters. Then the body's arena.
void place_values(LoopSchedule& schedule, std::size_t arena_bytes);

/// Computes the addresses of each turn.
class LoopTurns {
 public:
  LoopTurns(const LoopSchedule& schedule, std::span<void* const> buffers, std::byte* scratch);

  /// Before turn `step`: sets the address of each parameter and output.
  void begin(std::int64_t step);
  /// A copy that must be made after a turn.
  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };
  /// After turn `step`: returns the copies to make, in this order.
  std::span<const Copy> end(std::int64_t step);
  /// After the last turn: returns the copies to make.
  std::span<const Copy> finish();

  /// True if the turns that are left change nothing. The turns so far have run, and the host reads their memory.
  bool have_ended() const { return loop_.ends >= 0 && *at_[static_cast<std::size_t>(loop_.ends)] == std::byte{0}; }

  std::span<const std::byte* const> parameters() const { return at_; }
  std::span<void* const> outputs() const { return outputs_; }

 private:
  std::int64_t slice(std::int64_t step) const { return loop_.reverse ? loop_.length - 1 - step : step; }
  std::byte* stack_slot(std::size_t result, std::int64_t slice) const;
  const std::byte* source(std::size_t result) const;
  std::byte* in_turn(std::size_t place, std::size_t bytes, std::int64_t step) const;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);

  const LoopSchedule& loop_;
  std::span<void* const> buffers_;
  std::byte* scratch_;
  std::vector<const std::byte*> at_, next_;
  std::vector<void*> outputs_;
  std::vector<Copy> copies_;
};

/// Checks that no write of a turn overlaps another place that it reads or writes. `name`: the step's, for the Error.
void check_loop(const LoopSchedule& schedule, const std::string& name);

}  // namespace tegula::compile
