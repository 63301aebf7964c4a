#pragma once
// The plan: steps in order, and the storage of each value. lower makes it, schedule and memory refine it, executable runs it.

#include <memory>

#include "tegula/compile/passes/fusion/fuse.h"
#include "tegula/compile/plan/step.h"
#include "tegula/tile/builder.h"
#include "tegula/tile/ir.h"

namespace tegula::compile {

/// The storage of a value while the plan runs.
struct Storage {
  enum class Kind : std::uint8_t { None, Leaf, Arena, Output, Update } kind = Kind::None;
  int index = 0;             // Leaf, Output, Update: which
  std::size_t offset = 0;    // in bytes. Output, Update: the offset of a piece within the join stored there
};

/// True if scratch memory is small enough not to be reused on an asynchronous device: a library's counters, set while other steps run.
inline bool is_own_scratch(std::size_t bytes) { return bytes <= 4096; }

/// The data of an item that is still needed when the plan runs: its name for reports and errors, and its memory.
struct PlannedValue {
  std::string name;  // of the op that computes it
  Shape shape;
  DType dtype = DType::f32;
  Origin origin;
  int node = -1;         // Item::node
  Spot spot;
  Ref<const Op> checks;  // the op that words the error of a failed check; null without checks. Checks in a loop belong to its body
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

/// True if each tile of the group's program holds whole reduced rows; only then can it carry sums across rows.
bool holds_whole_rows(const Plan& plan, const FusedGroup& group);
/// The use of a plan: a recording of its own, or steps within another plan's recording.
enum class PlanOf : std::uint8_t { Recording, LoopBody };
/// The passes from fusion to memory, in order (pipeline.cpp). `graph` has been through those on graphs.
Plan make_plan(Graph graph, runtime::Device& device, const tile::Ladder& ladder = {}, PlanOf of = PlanOf::Recording);
/// All steps in an order that respects the data flow, checks before state.
void lower(Plan& plan, runtime::Device& device);
void compile_kernels(Plan& plan, runtime::Device& device);
/// Makes the calls that are described.
void bind_calls(Plan& plan, runtime::Device& device);
/// Fills Plan::values from the items; a running plan reads nothing else of them.
void note_values(Plan& plan);
/// Lets an asynchronous device start to compile kernels, for the alignment of addresses expected at run time.
void request_kernels(const Plan& plan, runtime::Device& device);
/// Replaces calls that consist of several steps by these, with temporaries in the plan's memory. A device may time calls to decide. Before look_at_calls.
void unfold_calls(Plan& plan);
/// Asks for the names and scratch memory of library calls, for which a device may time candidates. After all calls and kernels have been requested, so
/// that the device prepares them in parallel. Before plan_memory.
void look_at_calls(Plan& plan);
/// Per step, the earlier steps it must wait for when steps run concurrently: writers of memory it reads or writes, readers of memory it writes, all
/// checks if it changes state, the exchange before if it is one (passes/order_effects.h). Transitively reduced. After plan_memory.
std::vector<std::vector<int>> dependencies(const Plan& plan);
/// Per step: true for exchanges and the steps that compute what they send. Exchanges are long and use little of the device, so early ones overlap more.
std::vector<bool> urgent_steps(const Plan& plan);
/// An order that respects `after` (see dependencies). Producers of exchanges come first, in the order of the exchanges, then steps on which most work depends.
std::vector<int> launch_order(const Plan& plan, const std::vector<std::vector<int>>& after);
/// One step of a recording, and the earlier ones of the recording that it waits for.
struct PlannedRun {
  int step = 0;
  std::vector<int> after;
  bool hurried = false;  // an exchange or its last producers: takes precedence over steps that could run at the same time
};
/// The steps of `times` runs of the plan as one recording. Each step follows those that `needed` (see dependencies) names; each run follows the
/// whole run before. Steps that depend on an exchange and have no dependants (updates of parameters) run beside the last exchange.
std::vector<PlannedRun> recorded_runs(const Plan& plan, const std::vector<std::vector<int>>& needed, int times);
/// Merges independent launches of equal programs. Removes the steps of joins, which lower had put after their pieces.
void merge_launches(Plan& plan);
/// Marks launches as early (Program::early) if the plan is a straight chain of short launches on an asynchronous device: each may begin while the one
/// before runs, and reads steady leaves before it waits. TEGULA_EARLY=on: for every plan; off: never. After merge_launches.
void begin_early(Plan& plan, const runtime::Device& device);
/// Chooses each step's threads and streaming stores from the work it does.
void assign_threads(Plan& plan, runtime::Device& device);
/// Lets steps write results and Variables directly to their final place (guarded steps on asynchronous devices).
void place_results(Plan& plan, runtime::Device& device);
/// On asynchronous devices turns late updates into steps, guarded like all writes of Variables. After place_results.
void lower_late_updates(Plan& plan, runtime::Device& device);
/// Assigns arena offsets with reuse, and in-place results. Last, because it needs the sizes of scratch memory.
void plan_memory(Plan& plan, runtime::Device& device);

std::string to_string(const Plan& plan);
/// The same for Graphviz (dot -Tsvg), with the order in which steps wait for each other.
std::string to_dot(const Plan& plan);

}  // namespace tegula::compile
