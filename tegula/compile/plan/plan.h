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
};

/// True if each tile of the group's program holds whole reduced rows; only then can it carry sums across rows.
bool holds_whole_rows(const Plan& plan, const FusedGroup& group);
/// The use of a plan: a recording of its own, or steps within another plan's recording.
enum class PlanOf : std::uint8_t { Recording, LoopBody };
/// The passes from fusion to memory, in order (pipeline.cpp). `graph` has been through those on graphs.
Plan make_plan(Graph graph, runtime::Device& device, const tile::Ladder& ladder = {}, PlanOf of = PlanOf::Recording);
/// Groups become tile programs, calls are described, all steps are ordered: data flow, and checks before state.
///
/// After the groups are final.
void lower(Plan& plan, runtime::Device& device);
/// The tile programs become the device's kernels.
///
/// After all that changes programs.
void compile_kernels(Plan& plan, runtime::Device& device);
/// Each described call becomes the object that runs it (`Device::make`).
///
/// As soon as all are described, so that a call that the device refuses is an error before kernels are compiled.
void bind_calls(Plan& plan, runtime::Device& device);
/// Copies the facts of each item that a run reads (name, shape, dtype, line, place, check) into Plan::values, so that a plan runs without its
/// graph.
///
/// After the last pass that changes items.
void note_values(Plan& plan);
/// A device that compiles beside the process begins with the kernels.
///
/// For the alignment of addresses expected at run time; as soon as all launches are known.
void request_kernels(const Plan& plan, runtime::Device& device);
/// A call of several steps (`runtime/call_steps.h`) becomes those steps: copies into the layout that cuDNN accepts, its engine, an epilogue after
/// it; on the CPU halves are widened, computed and rounded.
///
/// Their temporaries lie in the plan's memory. A device may time calls to decide. Before look_at_calls.
void unfold_calls(Plan& plan);
/// Names and scratch memory of library calls, which a device may measure for that.
///
/// After all calls and kernels have been requested, so that the device prepares them in parallel. Before plan_memory.
void look_at_calls(Plan& plan);
/// Per step, the earlier steps it must wait for when steps run concurrently: writers of memory it reads or writes, readers of memory it writes, all
/// checks if it changes state, the exchange before if it is one (passes/exchanges.h). Transitively reduced. After plan_memory.
std::vector<std::vector<int>> dependencies(const Plan& plan);
/// The same before plan_memory, as if every value that is written over no other and stored in no join had memory of its own.
std::vector<std::vector<int>> data_flow(const Plan& plan);
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
/// Equal programs over different tensors share a launch: an optimiser step is one.
///
/// Also removes the steps of joins, which lower had put after their pieces.
void merge_launches(Plan& plan);
/// On devices that queue, in a chain of short launches: each may begin while the one before runs.
///
/// An early launch (Program::early) reads steady leaves before it waits. TEGULA_EARLY=on: for every plan; off: never. After merge_launches.
void begin_early(Plan& plan, const runtime::Device& device);
/// Threads and streaming stores of each step, from the work it does.
///
/// After the steps are final.
void assign_threads(Plan& plan, runtime::Device& device);
/// Results and Variables that can be written in place; the other Variables are copied by steps at the end. Guarded steps on devices that queue.
///
/// Before memory is planned for the others.
void place_results(Plan& plan, runtime::Device& device);
/// Results in buffers of their own, Variables written in place, the rest in one arena with reuse.
///
/// Last, because it needs the sizes of scratch memory.
void plan_memory(Plan& plan, runtime::Device& device);

std::string to_string(const Plan& plan);
/// The same for Graphviz (dot -Tsvg), with the order in which steps wait for each other.
std::string to_dot(const Plan& plan);

}  // namespace tegula::compile
