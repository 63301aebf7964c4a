#pragma once
// The plan: steps in order, and where each value lives. What lower makes, schedule and memory refine, and executable runs.

#include <memory>

#include "tegula/compile/passes/fusion/fuse.h"
#include "tegula/compile/plan/step.h"
#include "tegula/tile/builder.h"
#include "tegula/tile/ir.h"

namespace tegula::compile {

/// Where a value lives while the plan runs.
struct Storage {
  enum class Kind : std::uint8_t { None, Leaf, Arena, Output, Update } kind = Kind::None;
  int index = 0;             // Leaf, Output, Update: which
  std::size_t offset = 0;    // Arena: in bytes. Output, Update: of a piece of the join that lies there
};

/// So little scratch memory is a step's alone on a device that queues: counters of a library, which can then be set while other steps run.
inline bool is_own_scratch(std::size_t bytes) { return bytes <= 4096; }

/// What is left of an item when the plan runs: what reports and errors call it, and how much of which memory it is.
struct PlannedValue {
  std::string name;  // of the op that computes it
  Shape shape;
  DType dtype = DType::f32;
  Origin origin;
  int node = -1;         // Item::node
  Spot spot;
  Ref<const Op> checks;  // of an item that has some: who says what went wrong. Those in a loop are its body's
  std::size_t bytes() const { return static_cast<std::size_t>(numel(shape)) * size_of(dtype); }
};

struct Plan {
  Graph graph;                               // without items, of a plan that was loaded
  Fusion fusion;
  std::vector<Step> steps;
  runtime::Costs costs;                  // of the device it is for
  runtime::TilePreference tiles;             // of the device, with the ladder that this plan is made for
  std::vector<std::int64_t> extents;         // that its tiles follow
  std::vector<std::size_t> scratch_bytes;
  std::vector<PlannedValue> values;                 // of each item: note_values
  // After memory planning:
  std::vector<Storage> storage;              // per item
  std::vector<std::size_t> scratch_offsets;
  std::size_t arena_bytes = 0;
  std::vector<std::pair<int, int>> late_updates;  // (update, item): computed in the arena, copied into the Variable at the end
};

/// Whether each tile of the group's program holds whole rows of what is reduced: only then can sums across be carried along.
bool holds_whole_rows(const Plan& plan, const FusedGroup& group);
/// What a plan is of: a recording of its own, or steps within another plan's.
enum class PlanOf : std::uint8_t { Recording, LoopBody };
/// The passes from fusion to memory, in order (pipeline.cpp). `graph` has been through those on graphs.
Plan make_plan(Graph graph, runtime::Device& device, const tile::Ladder& ladder = {}, PlanOf of = PlanOf::Recording);
/// All steps in an order that respects the data flow, checks before state.
void lower(Plan& plan, runtime::Device& device);
void compile_kernels(Plan& plan, runtime::Device& device);
/// Makes the calls that are described.
void bind_calls(Plan& plan, runtime::Device& device);
/// From items to values, which is all that is read when the plan runs.
void note_values(Plan& plan);
/// Lets an asynchronous device begin with the kernels, for the addresses that they will probably have.
void request_kernels(const Plan& plan, runtime::Device& device);
/// Calls that consist of several steps become those, with their temporaries in the plan's memory. A device may have to try calls out to know. Before look_at_calls.
void unfold_calls(Plan& plan);
/// Names and scratch memory of library calls, for which a device may have to try them out: asked when all calls and kernels are there, so
/// that it can prepare them side by side. Before plan_memory.
void look_at_calls(Plan& plan);
/// For each step the earlier ones it must wait for when steps may run side by side: those whose memory it reads or overwrites, or that read
/// what it overwrites; steps that change state for all checks; exchanges, which stay in their order (passes/order_effects.h), for each other. Without those that others on the list wait for anyway. After plan_memory.
std::vector<std::vector<int>> dependencies(const Plan& plan);
/// Exchanges with other processes, which take long and little of the device, and the steps that make what they send: the sooner they run the more runs beside them.
std::vector<bool> urgent_steps(const Plan& plan);
/// An order that respects `after` (see dependencies), in which what exchanges wait for, the first one's before the next one's, and then what most work waits for, come first.
std::vector<int> launch_order(const Plan& plan, const std::vector<std::vector<int>>& after);
/// One of the steps of a recording, and which earlier ones of it it waits for.
struct PlannedRun {
  int step = 0;
  std::vector<int> after;
  bool hurried = false;  // an exchange, or what it waits for last: ahead of others that could run at the same time
};
/// So many runs of the plan in one recording, each step in an order and behind those that `needed` (see dependencies) names, every run behind
/// all of the one before. Steps that depend on an exchange and have no dependants (updates of parameters) run beside the last exchange.
std::vector<PlannedRun> recorded_runs(const Plan& plan, const std::vector<std::vector<int>>& needed, int times);
/// Launches of equal programs that do not depend on each other become one. Joins, which lower puts behind their pieces, are no steps from here on.
void merge_launches(Plan& plan);
/// Where an asynchronous device's plan is a straight chain of short launches, each may begin while the one ahead of it runs (Program::early), and read
/// leaves that stay from run to run before it waits for that. TEGULA_EARLY=on: whatever the plan is; off: never. After merge_launches.
void begin_early(Plan& plan, const runtime::Device& device);
/// Threads and streaming stores for each step, from the work it does.
void assign_threads(Plan& plan, runtime::Device& device);
/// Results and Variables that are written where they live, by guarded steps on asynchronous devices.
void place_results(Plan& plan, runtime::Device& device);
/// For asynchronous devices: late updates as steps of their own, guarded like everything else that writes Variables. After place_results.
void lower_late_updates(Plan& plan, runtime::Device& device);
/// Arena offsets with reuse, in-place results. Last: scratch memory has to be known.
void plan_memory(Plan& plan, runtime::Device& device);

std::string to_string(const Plan& plan);
/// The same for Graphviz (dot -Tsvg), with the order in which steps wait for each other.
std::string to_dot(const Plan& plan);

}  // namespace tegula::compile
