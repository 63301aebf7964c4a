#pragma once
// Where the values of a loop lie in each of its turns: data, made once with the plan around it.

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/graph/node.h"
#include "tegula/graph/regions/loop_op.h"

namespace tegula::compile {

struct LoopSchedule {
  using Input = LoopOp::Input;
  /// Where a result of the body comes from: an output of its plan, or a parameter as it is. -1: neither.
  struct Source {
    int output = -1, parameter = -1;
    bool operator==(const Source&) const = default;
  };

  std::int64_t length = 0;
  bool reverse = false;
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

  /// Whether a carried value is what another one was in the turn before, which the next turn writes over.
  bool moves(std::size_t carry) const;
};

/// The schedule without what the body's plan says (leaf_parameters, its arena), and the nodes that the plan computes.
struct ScheduledLoop {
  LoopSchedule schedule;
  std::vector<const Node*> outputs;
};
ScheduledLoop schedule_loop(const LoopOp& loop, const std::vector<bool>& wanted);

/// Two places for each output and each carried value that moves; `schedule` knows the bytes of parameters. Then the body's arena.
void place_values(LoopSchedule& schedule, std::size_t arena_bytes);

/// The addresses of one turn after the other.
class LoopTurns {
 public:
  LoopTurns(const LoopSchedule& schedule, std::span<void* const> buffers, std::byte* scratch);

  /// Before turn `step`: what each parameter is, and where each output goes.
  void begin(std::int64_t step);
  /// A copy that a turn leaves to be done.
  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };
  /// Behind turn `step`: what is to be copied, in this order.
  std::span<const Copy> end(std::int64_t step);
  /// Behind the last turn.
  std::span<const Copy> finish();

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

/// Proves that what a turn writes meets nothing that it reads or writes elsewhere. `name`: of the step, for the Error.
void check_loop(const LoopSchedule& schedule, const std::string& name);

}  // namespace tegula::compile
